"""What a person wants to be told: their own choice. It acts on no run, so the audit trail holds none of it."""

from __future__ import annotations

from runs import models, telling
from runs.transitions.committing import committing
from runs.transitions.refusals import Invalid


def save(wish: telling.Wish, *, owner: models.User) -> models.NoticeSettings:
    """Return the stored choice. Refuses (Invalid) hours, zones and quiet times that don't exist."""
    if wish.gather_hours not in telling.HOURS:
        raise Invalid("Choose how often notices are gathered.")
    if wish.zone and wish.zone not in set(telling.zones()):
        raise Invalid(f"There is no time zone named {wish.zone[:60]!r}.")
    if (wish.quiet_from is None) != (wish.quiet_until is None):
        raise Invalid("Quiet hours have a beginning and an end.")
    with committing("notice_settings"):
        row, _ = models.NoticeSettings.objects.update_or_create(
            person=owner,
            defaults={
                "ways": telling.wanted(wish.ways),
                "gather_hours": wish.gather_hours,
                "zone": wish.zone,
                "quiet_from": wish.quiet_from,
                "quiet_until": wish.quiet_until,
                "final_anyway": wish.final_anyway,
            },
        )
        return row


def seen(newest: int, *, owner: models.User) -> None:
    """Note up to which notice the person has looked; never back."""
    with committing("notices_seen"):
        row, _ = models.NoticeSettings.objects.select_for_update(no_key=True).get_or_create(person=owner)
        if newest > row.seen:
            models.NoticeSettings.objects.filter(pk=row.pk).update(seen=newest)
