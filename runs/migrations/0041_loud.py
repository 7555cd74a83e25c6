"""What an administrator released alone is told too."""

from django.db import migrations

TRIGGER = """
DROP TRIGGER runs_auditevent_told ON runs_auditevent;
CREATE TRIGGER runs_auditevent_told AFTER INSERT ON runs_auditevent
    FOR EACH ROW WHEN (NEW.act IN ({acts})) EXECUTE FUNCTION runs_notice_of_act();
"""
BEFORE = (
    "review.escalated", "review.handed_over", "switch.off", "switch.on", "policy.changed", "budget.raised",
    "database.restored", "database.released",
)


def told(*acts: str) -> str:
    """Return the SQL after which these acts leave a notice."""
    return TRIGGER.format(acts=", ".join(f"'{act}'" for act in acts))


class Migration(migrations.Migration):
    """The trigger with one act more."""

    dependencies = [("runs", "0040_alone")]

    operations = [migrations.RunSQL(told(*BEFORE, "review.broke_glass"), told(*BEFORE))]
