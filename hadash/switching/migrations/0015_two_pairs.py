"""The rule about AppIDs in two pairs stops switches also where somebody has chosen which rules do: it was not there to be chosen."""

from django.db import migrations

CODE = "appid-in-two-pairs"


def add(apps, schema_editor):
    for policy in apps.get_model("switching", "Policy").objects.exclude(stopping=None):
        if CODE not in policy.stopping:
            policy.stopping = [*policy.stopping, CODE]
            policy.save(update_fields=["stopping"])


def remove(apps, schema_editor):
    for policy in apps.get_model("switching", "Policy").objects.exclude(stopping=None):
        policy.stopping = [code for code in policy.stopping if code != CODE]
        policy.save(update_fields=["stopping"])


class Migration(migrations.Migration):
    dependencies = [("switching", "0014_request_drafts")]
    operations = [migrations.RunPython(add, remove)]
