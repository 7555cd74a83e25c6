"""The two people of the harness and its agent."""

from __future__ import annotations

from django.contrib.auth.models import Group

from runs import models
from tests.harness import tools, trial

__all__ = ["found", "make", "tools"]


def make() -> None:
    """Make a reviewer and an operator, and register the agent."""
    for name in ("reviewer", "operator"):
        user, _ = models.User.objects.get_or_create(username=f"harness-{name}", defaults={"password": "!"})
        user.groups.set(Group.objects.filter(name=name))
    trial.agent()


def found() -> tuple[models.User, models.User]:
    """Return the reviewer and the operator."""
    return (
        models.User.objects.get(username="harness-reviewer"),
        models.User.objects.get(username="harness-operator"),
    )
