"""Entries are numbered and chained, and the table can only grow."""

from django.db import migrations, models

from hadash.audit.chain import BEGINNING, digest_of

APPEND_ONLY = """
CREATE FUNCTION audit_entry_only_grows() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'The audit log only grows: % is not possible.', TG_OP;
END $$;
CREATE TRIGGER audit_entry_unchanged BEFORE UPDATE OR DELETE ON audit_entry
    FOR EACH ROW EXECUTE FUNCTION audit_entry_only_grows();
CREATE TRIGGER audit_entry_not_emptied BEFORE TRUNCATE ON audit_entry
    FOR EACH STATEMENT EXECUTE FUNCTION audit_entry_only_grows();
"""

NOT_ANY_MORE = """
DROP TRIGGER audit_entry_unchanged ON audit_entry;
DROP TRIGGER audit_entry_not_emptied ON audit_entry;
DROP FUNCTION audit_entry_only_grows();
"""


def chain(apps, schema_editor):
    """Number and chain what was recorded before."""
    previous = BEGINNING
    rows = apps.get_model("audit", "Entry").objects.select_related("actor").order_by("at", "pk")
    for number, entry in enumerate(rows.iterator(), 1):
        entry.number, entry.previous = number, previous
        entry.actor_name = entry.actor.username if entry.actor_id else ""
        entry.digest = previous = digest_of(
            {
                "number": number,
                "at": entry.at.isoformat(timespec="microseconds"),
                "actor": entry.actor_name,
                "verb": entry.verb,
                "subject": entry.subject,
                "address": entry.address,
                "details": entry.details,
                "previous": entry.previous,
            }
        )
        entry.save(update_fields=["number", "actor_name", "previous", "digest"])
    # PostgreSQL does not change a table that has rows to be checked at the end of the same transaction.
    schema_editor.execute("SET CONSTRAINTS ALL IMMEDIATE")


class Migration(migrations.Migration):
    dependencies = [("audit", "0001_initial")]

    operations = [
        # Nothing is recorded meanwhile.
        migrations.RunSQL("LOCK TABLE audit_entry IN EXCLUSIVE MODE", migrations.RunSQL.noop),
        migrations.AlterField("entry", "at", models.DateTimeField()),
        migrations.AddField("entry", "number", models.BigIntegerField(null=True)),
        migrations.AddField("entry", "actor_name", models.CharField(blank=True, default="", max_length=150)),
        migrations.AddField("entry", "previous", models.CharField(default="", max_length=64)),
        migrations.AddField("entry", "digest", models.CharField(default="", max_length=64)),
        migrations.RunPython(chain, migrations.RunPython.noop),
        migrations.AlterField("entry", "number", models.BigIntegerField(unique=True)),
        migrations.AlterField("entry", "actor_name", models.CharField(blank=True, max_length=150)),
        migrations.AlterField("entry", "previous", models.CharField(max_length=64)),
        migrations.AlterField("entry", "digest", models.CharField(max_length=64)),
        migrations.AlterModelOptions("entry", {"ordering": ("-number",)}),
        migrations.RunSQL(APPEND_ONLY, NOT_ANY_MORE),
    ]
