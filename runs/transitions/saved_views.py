"""Saving, renaming and deleting a view of the inbox. It acts on no run, so the audit trail holds none of it."""

from __future__ import annotations

from django.db import IntegrityError

from runs import models
from runs.transitions import texts
from runs.transitions.committing import committing
from runs.transitions.refusals import Invalid

MOST = 50
LONGEST_NAME, LONGEST_QUERY = 60, 1000


def save(name: str, query: str, *, shared: bool, owner: models.User) -> models.SavedView:
    """Return the new view. Refuses (Invalid) an empty or long name, one they have, and more than fifty of them."""
    name = _checked(name)
    if not query or len(query) > LONGEST_QUERY:
        raise Invalid("Narrow the list first; a view is what the filters leave.")
    if models.SavedView.objects.filter(owner=owner).count() >= MOST:
        raise Invalid(f"You have {MOST} views; delete one first.")
    try:
        with committing("view"):
            return models.SavedView.objects.create(owner=owner, name=name, query=query, shared=shared)
    except IntegrityError as error:
        raise Invalid(f"You have a view named “{name}” already.") from error


def change(view: models.SavedView, name: str, *, shared: bool) -> models.SavedView:
    """Return the view under its new name, private or shared. Refuses (Invalid) the names that `save` refuses."""
    name = _checked(name)
    try:
        with committing("view"):
            models.SavedView.objects.filter(pk=view.pk).update(name=name, shared=shared)
    except IntegrityError as error:
        raise Invalid(f"You have a view named “{name}” already.") from error
    view.name, view.shared = name, shared
    return view


def delete(view: models.SavedView) -> None:
    """Delete the view; twice is once."""
    with committing("view"):
        models.SavedView.objects.filter(pk=view.pk).delete()


def _checked(name: str) -> str:
    name = texts.typed(name, "name")
    if not texts.says(name):
        raise Invalid("Give the view a name.")
    if len(name) > LONGEST_NAME:
        raise Invalid(f"The name has {len(name)} characters; the limit is {LONGEST_NAME}.")
    return name
