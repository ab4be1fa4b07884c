"""A mark for this installation: committed with the table, so that no failed request takes it back."""

from __future__ import annotations

import secrets
from typing import Any

from django.db import migrations, models


def make_mark(apps: Any, schema_editor: Any) -> None:
    apps.get_model("inventory", "Installation").objects.create(pk=1, mark=secrets.token_hex(16))


class Migration(migrations.Migration):
    dependencies = [
        ("inventory", "0006_tls_of_clusters"),
    ]

    operations = [
        migrations.CreateModel(
            name="Installation",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("mark", models.CharField(max_length=64)),
            ],
        ),
        migrations.RunPython(make_mark, migrations.RunPython.noop),
    ]
