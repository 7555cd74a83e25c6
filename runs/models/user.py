"""People."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from django.apps import apps
from django.contrib.auth.models import AbstractUser
from django.db.models import CharField, Value

from runs import rights


def roles_of(groups: Iterable[str], *, superuser: bool) -> frozenset[str]:
    """Return the roles of an active person in these groups."""
    return frozenset(groups) | ({rights.ADMIN} if superuser else frozenset())


def _limit(
    rows: list[tuple[str | None, int | None, str | None]], projects: Mapping[str, set[int]]
) -> frozenset[int] | None:
    """Return the agents that both the person and one of their groups are limited to; None where neither is."""
    sides: dict[bool, set[int]] = {}
    for group, agent, project in rows:
        if agent is not None or project:
            found = projects[project] if project else {agent}
            sides.setdefault(group is None, set()).update(one for one in found if one is not None)
    return frozenset(set.intersection(*sides.values())) if sides else None


def _projects(wanted: Iterable[str | None]) -> Mapping[str, set[int]]:
    """Return the agents of these projects; no query where there are none."""
    found: dict[str, set[int]] = {name: set() for name in wanted if name}
    if found:
        agents = apps.get_model("runs", "Agent").objects.filter(project__in=found)
        for pk, project in agents.values_list("pk", "project"):
            found[project].add(pk)
    return found


def standing(people: Iterable[int]) -> dict[int, tuple[frozenset[str], frozenset[int] | None]]:
    """Return the roles of these active people, and the agents that each is limited to, in two queries at most."""
    rows = User.objects.filter(pk__in=list(people), is_active=True)
    whose = ("pk", "is_superuser")
    own = rows.values_list(*whose, Value(None, CharField(null=True)), "scopes__agent", "scopes__project")
    of_groups = ("groups__name", "groups__scopes__agent", "groups__scopes__project")
    found: dict[int, list[tuple[str | None, int | None, str | None]]] = {}
    top = set()
    for pk, superuser, *one in rows.values_list(*whose, *of_groups).union(own):
        found.setdefault(pk, []).append((one[0], one[1], one[2]))
        top |= {pk} if superuser else set()
    projects = _projects(project for each in found.values() for *_, project in each)
    known = {}
    for pk, each in found.items():
        roles = roles_of({group for group, *_ in each if group is not None}, superuser=pk in top)
        limit = None if rights.ADMIN in roles else _limit(each, projects)
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
        # With them comes to what they and the groups are limited (models.Scope); what is the person's own has no group.
        scopes = ("scopes__agent", "scopes__project")
        own = User.objects.filter(pk=self.pk).values_list(Value(None, CharField(null=True)), *scopes)
        rows = list(self.groups.values_list("name", *scopes).union(own))
        names = roles_of({name for name, *_ in rows if name is not None}, superuser=self.is_superuser)
        self._limit = None if rights.ADMIN in names else _limit(rows, _projects(row[2] for row in rows))
        return names if self.through is None else rights.Held.through(names, self.through)

    def limit(self) -> frozenset[int] | None:
        """Return the agents that the person is limited to, None without a limit; as it was when roles were read."""
        if not hasattr(self, "_limit"):
            self.roles()
        return self._limit

    def display(self) -> str:
        """Return the name to show on pages."""
        return self.get_full_name() or self.get_username()
