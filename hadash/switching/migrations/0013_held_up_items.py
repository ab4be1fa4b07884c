from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('switching', '0012_rebuilding'),
    ]

    operations = [
        migrations.AddField(
            model_name='batchitem',
            name='held_up_since',
            field=models.DateTimeField(null=True),
        ),
    ]
