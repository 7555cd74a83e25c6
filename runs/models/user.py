"""People."""

from __future__ import annotations

from collections.abc import Iterable

from django.contrib.auth.models import AbstractUser

from runs import rights


def roles_of(groups: Iterable[str], *, superuser: bool) -> frozenset[str]:
    """Return the roles of an active person in these groups."""
    return frozenset(groups) | ({rights.ADMIN} if superuser else frozenset())


class User(AbstractUser):
    """A person who signs in. What they may do follows from the names of their groups (runs.rights)."""

    through: frozenset[rights.Act] | None = None
    """What the token is for that this person came with; None where they came themselves. No column."""

    class Meta(AbstractUser.Meta):
        db_table = "runs_user"

    def roles(self) -> frozenset[str]:
        """Return the names of the person's groups, narrowed to what their token is for; none while inactive."""
        if not self.is_active:
            return frozenset()
        names = roles_of(self.groups.values_list("name", flat=True), superuser=self.is_superuser)
        return names if self.through is None else rights.Held.through(names, self.through)

    def display(self) -> str:
        """Return the name to show on pages."""
        return self.get_full_name() or self.get_username()
