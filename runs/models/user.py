"""People."""

from __future__ import annotations

from django.contrib.auth.models import AbstractUser


class User(AbstractUser):
    """A person who signs in. What they may do follows from the names of their groups (runs.rights)."""

    class Meta(AbstractUser.Meta):
        db_table = "runs_user"

    def roles(self) -> frozenset[str]:
        """Return the names of the person's groups; none while inactive."""
        if not self.is_active:
            return frozenset()
        names = frozenset(self.groups.values_list("name", flat=True))
        return names | {"admin"} if self.is_superuser else names

    def display(self) -> str:
        """Return the name to show on pages."""
        return self.get_full_name() or self.get_username()
