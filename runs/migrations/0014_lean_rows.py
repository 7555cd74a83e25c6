"""The rows of the hot path become lean: digests as bytes, each payload once, no index that nothing reads.

What an earlier version stored is carried over: receipts are found at their position in the log, and the first revision
of an action's arguments in its reply, unless a person changed them.
"""

import django.db.models.deletion
from django.db import migrations, models

import runs.lifecycle

DIGESTS: dict[str, tuple[str, ...]] = {
    "action": ("contract", "digest", "proposed_identity", "identity_digest", "declaration", "approval_digest"),
    "revision": ("digest",),
    "agentversion": ("digest",),
    "audithead": ("hash",),
    "auditevent": ("previous", "hash"),
    "blob": ("sha256",),
    "entry": ("head",),
    "occurrence": ("identity_digest", "declaration", "key"),
    "plan": ("digest",),
    "policyversion": ("digest",),
    "review": ("digest",),
    "decision": ("digest",),
    "run": ("input_digest", "head"),
}
"""Columns that held a digest as text."""

PATTERN_INDEXES = """
DO $$ DECLARE name text; BEGIN
    FOR name IN SELECT indexname FROM pg_indexes
        WHERE tablename IN ('runs_occurrence', 'runs_blob') AND indexname LIKE '%\\_like'
    LOOP EXECUTE format('DROP INDEX %I', name); END LOOP;
END $$;
"""

RECEIPTS = """
UPDATE runs_action a SET receipt_position = (
    SELECT max(e.position) FROM runs_entry e
    WHERE e.run_id = a.run_id AND e.kind = 'receipt' AND e.content LIKE '%"outcome":"happened"%'
      AND e.content LIKE '%"call":[' || a.reply_position || ',' || a.call_index || ']%'
) WHERE a.receipt IS NOT NULL;
UPDATE runs_occurrence o SET receipt_position = a.receipt_position, receipt = NULL
FROM runs_action a WHERE a.id = o.owner_id AND a.receipt_position IS NOT NULL AND o.receipt = a.receipt;
"""

FIRST_REVISIONS = """
ALTER TABLE runs_revision DISABLE TRIGGER runs_revision_append_only;
DELETE FROM runs_revision first WHERE number = 1
    AND NOT EXISTS (SELECT 1 FROM runs_revision later WHERE later.action_id = first.action_id AND later.number > 1);
ALTER TABLE runs_revision ENABLE TRIGGER runs_revision_append_only;
"""

REQUIRE = """
CREATE FUNCTION runs_require(counted bigint, expected bigint) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
    IF counted IS DISTINCT FROM expected THEN
        RAISE EXCEPTION 'this commit found % rows where it needs %', counted, expected USING ERRCODE = 'CK001';
    END IF;
    RETURN true;
END $$;
"""


AS_BYTES = """
DO $$ DECLARE wanted record; BEGIN
    FOR wanted IN SELECT c.table_name, c.column_name FROM information_schema.columns c
        WHERE c.table_schema = current_schema() AND c.data_type = 'character varying'
          AND (c.table_name, c.column_name) IN (%s)
    LOOP EXECUTE format(
        'ALTER TABLE %%I ALTER COLUMN %%I DROP DEFAULT, ALTER COLUMN %%I TYPE bytea USING decode(%%I, ''hex'')',
        wanted.table_name, wanted.column_name, wanted.column_name, wanted.column_name);
    END LOOP;
END $$;
""" % ", ".join(f"('runs_{model}', '{column}')" for model, columns in DIGESTS.items() for column in columns)
"""Only where an earlier version stored texts: the field itself says bytes, so a new database has them from the start."""


class Migration(migrations.Migration):
    """Lean rows, and the guard that makes a failed part of a statement undo the whole of it."""

    dependencies = [("runs", "0013_children")]

    operations = [
        migrations.RunSQL(PATTERN_INDEXES, migrations.RunSQL.noop),
        migrations.RunSQL(AS_BYTES, migrations.RunSQL.noop),
        migrations.AddField("action", "receipt_position", models.PositiveIntegerField(null=True)),
        migrations.AddField("occurrence", "receipt_position", models.PositiveIntegerField(null=True)),
        migrations.RunSQL(RECEIPTS, migrations.RunSQL.noop),
        migrations.RunSQL(FIRST_REVISIONS, migrations.RunSQL.noop),
        migrations.RunSQL("SET CONSTRAINTS ALL IMMEDIATE", migrations.RunSQL.noop),
        migrations.RemoveField("action", "receipt"),
        migrations.RemoveField("entry", "digest"),
        migrations.RemoveField("occurrence", "attempts"),
        migrations.AlterField(
            model_name="action",
            name="blocked_by",
            field=models.ForeignKey(
                db_constraint=False,
                db_index=False,
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="blocks",
                to="runs.occurrence",
            ),
        ),
        migrations.AlterField(
            model_name="action",
            name="duplicate_of",
            field=models.ForeignKey(
                db_constraint=False,
                db_index=False,
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="+",
                to="runs.action",
            ),
        ),
        migrations.AlterField(
            model_name="action",
            name="occurrence",
            field=models.ForeignKey(
                db_constraint=False,
                db_index=False,
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="actions",
                to="runs.occurrence",
            ),
        ),
        migrations.AlterField(
            model_name="action",
            name="policy_version",
            field=models.ForeignKey(
                db_constraint=False,
                db_index=False,
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="+",
                to="runs.policyversion",
            ),
        ),
        migrations.AlterField(
            model_name="action",
            name="retry_of",
            field=models.ForeignKey(
                db_constraint=False,
                db_index=False,
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="+",
                to="runs.action",
            ),
        ),
        migrations.AlterField(
            model_name="action",
            name="run",
            field=models.ForeignKey(
                db_constraint=False,
                db_index=False,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="actions",
                to="runs.run",
            ),
        ),
        migrations.AlterField(
            model_name="entry",
            name="run",
            field=models.ForeignKey(
                db_constraint=False,
                db_index=False,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="entries",
                to="runs.run",
            ),
        ),
        migrations.AlterField(
            model_name="occurrence",
            name="owner",
            field=models.ForeignKey(
                db_constraint=False,
                db_index=False,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="owned_occurrences",
                to="runs.action",
            ),
        ),
        migrations.AlterField(
            model_name="occurrence",
            name="root",
            field=models.ForeignKey(
                db_constraint=False,
                db_index=False,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="occurrences",
                to="runs.run",
            ),
        ),
        migrations.AlterField(
            model_name="action",
            name="undo_of",
            field=models.ForeignKey(
                db_constraint=False,
                db_index=False,
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="undos",
                to="runs.occurrence",
            ),
        ),
        migrations.AddIndex(
            "action",
            models.Index(
                condition=models.Q(("undo_of__isnull", False)), fields=["undo_of"], name="runs_action_undo"
            ),
        ),
        migrations.AlterField(
            model_name="revision",
            name="action",
            field=models.ForeignKey(
                db_index=False,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="revisions",
                to="runs.action",
            ),
        ),
        migrations.RemoveIndex("run", "runs_run_leased"),
        migrations.AddIndex(
            "run",
            models.Index(
                condition=models.Q(("status", runs.lifecycle.Run["RUNNING"])),
                fields=["id"],
                name="runs_run_leased",
            ),
        ),
        migrations.RunSQL(REQUIRE, "DROP FUNCTION runs_require(bigint, bigint);"),
        # Each step updates the run row: with room on its page the new version needs no index entry.
        migrations.RunSQL("ALTER TABLE runs_run SET (fillfactor = 50)", "ALTER TABLE runs_run RESET (fillfactor)"),
    ]
