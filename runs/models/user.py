"""People."""

from __future__ import annotations

from collections.abc import Iterable

from django.contrib.auth.models import AbstractUser
from django.db.models import CharField, Value

from runs import rights


def roles_of(groups: Iterable[str], *, superuser: bool) -> frozenset[str]:
    """Return the roles of an active person in these groups."""
    return frozenset(groups) | ({rights.ADMIN} if superuser else frozenset())


def _limit(rows: list[tuple[str | None, int | None]]) -> frozenset[int] | None:
    own = {agent for name, agent in rows if name is None and agent is not None}
    groups = {agent for name, agent in rows if name is not None and agent is not None}
    if own and groups:
        return frozenset(own & groups)
    return frozenset(own or groups) or None


def standing(people: Iterable[int]) -> dict[int, tuple[frozenset[str], frozenset[int] | None]]:
    """Return the roles of these active people, and the agents that each is limited to, in one query."""
    rows = User.objects.filter(pk__in=list(people), is_active=True)
    whose = ("pk", "is_superuser")
    own = rows.values_list(*whose, Value(None, CharField(null=True)), "scopes__agent")
    found: dict[int, list[tuple[bool, str | None, int | None]]] = {}
    for pk, top, group, agent in rows.values_list(*whose, "groups__name", "groups__scopes__agent").union(own):
        found.setdefault(pk, []).append((top, group, agent))
    known = {}
    for pk, each in found.items():
        roles = roles_of({group for _, group, _ in each if group is not None}, superuser=each[0][0])
        limit = None if rights.ADMIN in roles else _limit([(group, agent) for _, group, agent in each])
        known[pk] = roles, limit
    return known


class User(AbstractUser):
    """A person who signs in. What they may do follows from the names of their groups (runs.rights)."""

    _limit: frozenset[int] | None
    through: frozenset[rights.Act] | None = None
    """What the token is for that this person came with; None where they came themselves. No column."""

    class Meta(AbstractUser.Meta):
        db_table = "runs_user"

    def roles(self) -> frozenset[str]:
        """Return the names of the person's groups, narrowed to what their token is for; none while inactive."""
        if not self.is_active:
            self._limit = frozenset()
            return frozenset()
        # With them comes to which agents they and the groups are limited (models.Scope); what is the person's own has
        # no group.
        own = User.objects.filter(pk=self.pk).values_list(Value(None, CharField(null=True)), "scopes__agent")
        rows = list(self.groups.values_list("name", "scopes__agent").union(own))
        names = roles_of({name for name, _ in rows if name is not None}, superuser=self.is_superuser)
        self._limit = None if rights.ADMIN in names else _limit(rows)
        return names if self.through is None else rights.Held.through(names, self.through)

    def limit(self) -> frozenset[int] | None:
        """Return the agents that the person is limited to, None without a limit; as it was when roles were read."""
        if not hasattr(self, "_limit"):
            self.roles()
        return self._limit

    def display(self) -> str:
        """Return the name to show on pages."""
        return self.get_full_name() or self.get_username()
