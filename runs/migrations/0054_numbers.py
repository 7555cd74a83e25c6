"""What is made after a restore gets numbers that nothing lost can have had: they are in keys, links and programs."""

from django.db import migrations

# A line of a log is known by its run and position, and its number is what tells how much was written.
# The tables' owner's, since other roles may only take numbers; it moves them on and never back.
_SKIP = r"""
CREATE FUNCTION runs_skip_numbers() RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
DECLARE one record;
BEGIN
    FOR one IN SELECT schemaname, sequencename, coalesce(last_value, 0) AS last FROM pg_sequences
        WHERE schemaname = current_schema() AND sequencename LIKE 'runs\_%' AND sequencename <> 'runs_entry_id_seq'
    LOOP
        PERFORM setval(format('%I.%I', one.schemaname, one.sequencename)::regclass, one.last + 1000000);
    END LOOP;
END $$
"""


class Migration(migrations.Migration):

    dependencies = [
        ('runs', '0053_tombstones'),
    ]

    operations = [
        migrations.RunSQL(_SKIP, 'DROP FUNCTION runs_skip_numbers()'),
    ]
