"""Lines that are never changed can't be changed: the database itself refuses it."""

from django.db import migrations

TABLES = (
    "runs_entry",
    "runs_revision",
    "runs_decision",
    "runs_evidence",
    "runs_fact",
    "runs_plan",
    "runs_auditevent",
)

FUNCTION = """
CREATE FUNCTION runs_append_only() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION '% is append-only', TG_TABLE_NAME USING ERRCODE = 'integrity_constraint_violation';
END $$;
"""


def trigger(table: str) -> migrations.RunSQL:
    """Return the operation that refuses updates and deletes on `table`."""
    return migrations.RunSQL(
        f"CREATE TRIGGER {table}_append_only BEFORE UPDATE OR DELETE ON {table}"
        " FOR EACH ROW EXECUTE FUNCTION runs_append_only();",
        f"DROP TRIGGER {table}_append_only ON {table};",
    )


class Migration(migrations.Migration):
    """Triggers on every append-only table."""

    dependencies = [("runs", "0001_initial")]

    operations = [
        migrations.RunSQL(FUNCTION, "DROP FUNCTION runs_append_only();"),
        *[trigger(table) for table in TABLES],
    ]
