"""What is erased of a run is told first: only where a tombstone says so does the database let append-only rows go."""

import django.db.models.deletion
import runs.models.fields
from django.db import migrations, models

FUNCTION = """
CREATE OR REPLACE FUNCTION runs_append_only() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    its bigint;
    what text;
BEGIN
    IF TG_TABLE_NAME = 'runs_entry' AND TG_OP = 'UPDATE' THEN
        -- Of a line its content alone may give way to its own digest, once.
        IF OLD.content !~ '^{"erased":"[0-9a-f]{64}"}$'
            AND NEW.content = '{"erased":"' || encode(sha256(convert_to(OLD.content, 'UTF8')), 'hex') || '"}'
            AND (NEW.id, NEW.run_id, NEW.position, NEW.kind, NEW.head, NEW.number, NEW.boundary, NEW.counters, NEW.created_at)
            IS NOT DISTINCT FROM
            (OLD.id, OLD.run_id, OLD.position, OLD.kind, OLD.head, OLD.number, OLD.boundary, OLD.counters, OLD.created_at)
        THEN
            its := OLD.run_id;
            what := 'payloads';
        END IF;
    ELSIF TG_OP = 'DELETE' THEN
        IF TG_TABLE_NAME = 'runs_entry' THEN
            its := OLD.run_id;
            what := 'timeline';
        ELSIF TG_TABLE_NAME IN ('runs_fact', 'runs_plan') THEN
            its := OLD.run_id;
            what := 'payloads';
        ELSIF TG_TABLE_NAME IN ('runs_revision', 'runs_evidence') THEN
            SELECT run_id INTO its FROM runs_action WHERE id = OLD.action_id;
            what := CASE TG_TABLE_NAME WHEN 'runs_revision' THEN 'payloads' ELSE 'receipts' END;
        END IF;
    END IF;
    IF what IS NOT NULL AND EXISTS (
        SELECT FROM runs_tombstone WHERE run_id = its AND part = what AND cleared_at IS NULL
    ) THEN
        RETURN CASE TG_OP WHEN 'DELETE' THEN OLD ELSE NEW END;
    END IF;
    RAISE EXCEPTION '% is append-only', TG_TABLE_NAME USING ERRCODE = 'integrity_constraint_violation';
END $$;
"""
BEFORE = """
CREATE OR REPLACE FUNCTION runs_append_only() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION '% is append-only', TG_TABLE_NAME USING ERRCODE = 'integrity_constraint_violation';
END $$;
"""
STAYS = """
CREATE FUNCTION runs_tombstone_stays() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'UPDATE' AND OLD.cleared_at IS NULL AND (NEW.id, NEW.run_id, NEW.part, NEW.content)
        IS NOT DISTINCT FROM (OLD.id, OLD.run_id, OLD.part, OLD.content)
    THEN
        RETURN NEW;
    END IF;
    RAISE EXCEPTION 'runs_tombstone is append-only' USING ERRCODE = 'integrity_constraint_violation';
END $$;
CREATE TRIGGER runs_tombstone_stays BEFORE UPDATE OR DELETE ON runs_tombstone
    FOR EACH ROW EXECUTE FUNCTION runs_tombstone_stays();
"""


class Migration(migrations.Migration):
    """The table, and what its rows permit."""

    dependencies = [
        ('runs', '0052_mcp_looks'),
    ]

    operations = [
        migrations.CreateModel(
            name='Tombstone',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('part', models.CharField(choices=[('payloads', 'Payloads'), ('timeline', 'Timeline'), ('receipts', 'Receipts')], max_length=10)),
                ('content', runs.models.fields.ExactField()),
                ('cleared_at', models.DateTimeField(null=True)),
                ('run', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='tombstones', to='runs.run')),
            ],
            options={
                'indexes': [models.Index(condition=models.Q(('cleared_at__isnull', True)), fields=['id'], name='runs_tombstone_open')],
                'constraints': [models.UniqueConstraint(fields=('run', 'part'), name='runs_tombstone_one'), models.CheckConstraint(condition=models.Q(('part__in', ['payloads', 'timeline', 'receipts'])), name='runs_tombstone_part')],
            },
        ),
        migrations.RunSQL(FUNCTION, BEFORE),
        migrations.RunSQL(
            STAYS,
            "DROP TRIGGER runs_tombstone_stays ON runs_tombstone; DROP FUNCTION runs_tombstone_stays();",
        ),
    ]
