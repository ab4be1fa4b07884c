"""A switch can be asked for by more than an AppID or InstanceID; plans that were made before say it in the new way."""

from django.db import migrations, models

from django.utils import timezone

from hadash.identity.names import encode
from hadash.sentences import say

UPGRADED = say("hadash was upgraded meanwhile. Ask for the switch anew.")


def rewritten(plan, appid, instance_id):
    """A plan of the first version in the form of the second."""
    key = encode(appid)
    instances = [f"{key}+{encode(name)}" for name in plan.get("instances", [])]
    scope = {
        "kind": "instance" if instance_id else "appid",
        "appid": appid,
        "instance_id": instance_id,
        "topics": [],
        "dimension": "instance",
        "widen": False,
    }
    return scope, {
        "pair": plan["pair"],
        "scope": scope,
        "source": plan["source"],
        "target": plan["target"],
        "identities": instances if instance_id else [key, *instances],
        "topics": plan["topics"],
        "groups": plan["groups"],
        "mirrors": plan["mirrors"],
        "members": [],
    }


def forwards(apps, schema_editor):
    for switch in apps.get_model("switching", "Switch").objects.all():
        if "scope" not in switch.plan:
            switch.asked, switch.plan = rewritten(switch.plan, switch.appid, switch.instance_id)
            if switch.status in ("awaiting_approval", "approved"):
                # What was asked for was hashed in another way: it could not be approved any more.
                switch.status, switch.ended_at = "expired", timezone.now()
                switch.outcome = UPGRADED.to_json()
            switch.save(update_fields=["asked", "plan", "status", "ended_at", "outcome"])


class Migration(migrations.Migration):
    dependencies = [("switching", "0001_initial")]

    operations = [
        migrations.AddField("switch", "asked", models.JSONField(default=dict), preserve_default=False),
        migrations.RunPython(forwards, migrations.RunPython.noop),
        migrations.AlterField("switch", "appid", models.CharField(blank=True, max_length=200)),
        migrations.RemoveConstraint("switch", "one_open_switch_a_scope"),
        migrations.AddConstraint(
            "switch",
            models.UniqueConstraint(
                condition=models.Q(
                    (
                        "status__in",
                        ["approved", "awaiting_approval", "needs_attention", "running"],
                    ),
                    models.Q(("appid", ""), _negated=True),
                ),
                fields=("pair", "appid", "instance_id"),
                name="one_open_switch_a_scope",
            ),
        ),
    ]
