"""The only way a view obtains an object.

Who may not see a thing gets the same 404 as for one that isn't there; only who sees it learns with a 403 that an act
on it is not theirs. What changes something is checked again, under lock, by the transition itself.
"""

from __future__ import annotations

from typing import TypeVar

from django.contrib.auth.models import AnonymousUser
from django.core.exceptions import PermissionDenied
from django.db.models import Q, TextField
from django.db.models.functions import Cast, Now
from django.http import Http404

from runs import exact, models, rights
from runs.models import cuts, scopes, tombstone
from runs.tools import filerefs
from runs.transitions import retention

AGENT = "agent_version__agent"
"""The way from a run to what it is in whose scope it is."""
Person = models.User | AnonymousUser
Row = TypeVar("Row")

WORDS: dict[rights.Act, str] = {
    rights.Act.START: "start runs",
    rights.Act.REDRIVE: "go on from a checkpoint",
    rights.Act.DECIDE: "decide",
    rights.Act.PAUSE: "pause runs",
    rights.Act.RESUME: "resume runs",
    rights.Act.STOP: "stop runs",
    rights.Act.UNDO: "take effects back",
    rights.Act.ANSWER_FAILURE: "answer for failed runs",
    rights.Act.RAISE_BUDGET: "answer for used-up budgets",
    rights.Act.EDIT_PLAN: "change plans",
    rights.Act.AUDIT: "read the audit trail",
    rights.Act.SWITCH: "use the switches",
    rights.Act.BUDGETS: "set what may be used in a day",
    rights.Act.SECRETS: "keep secrets",
    rights.Act.POLICIES: "change the policy",
    rights.Act.PEOPLE: "manage people",
    rights.Act.BREAK_GLASS: "release alone what needs two people",
    rights.Act.NOTICES: "change whom ckptsite tells",
}


class Forbidden(PermissionDenied):
    """The person sees the thing, but this act isn't theirs; the message is one sentence that says whose it is."""


class NotThere(Http404):
    """There is no such thing, or none that the person may see: both look the same."""


class Erased(Exception):
    """What the run held was erased by policy; the message is one sentence that says what, when and why."""

    def __init__(self, run: models.Run) -> None:
        super().__init__(retention.told(run))
        self.run = run


class NoGroup(Http404):
    """The person is in no group that sees anything; the message says what helps."""


def roles(user: Person) -> frozenset[str]:
    """Return the person's roles, read once for each request."""
    if not isinstance(user, models.User):
        return frozenset()
    known: frozenset[str] | None = getattr(user, "_roles_of_request", None)
    if known is None:
        known = user.roles()
        user._roles_of_request = known  # type: ignore[attr-defined]  # a cache on the request's own user object
    return known


def may(user: Person, act: rights.Act) -> bool:
    """Return whether the person may do `act` at all."""
    return rights.may(roles(user), act)


def _person(user: Person) -> models.User | None:
    return user if isinstance(user, models.User) else None


def whole(user: Person, act: rights.Act) -> None:
    """Refuse like `require`, and (Forbidden) who is limited to some agents: this is about all of them."""
    require(user, act)
    if isinstance(user, models.User) and user.limit() is not None:
        raise Forbidden("Your account is limited to some agents, and this is about all of them.")


def see(user: Person) -> None:
    """Refuse (NoGroup, a 404) somebody who may see nothing here."""
    if not may(user, rights.Act.VIEW):
        raise NoGroup(
            "Your account is in no group yet, so there is nothing here for you. An administrator can add you to one."
        )


def require(user: Person, act: rights.Act) -> None:
    """Refuse (NoGroup) who sees nothing, then (Forbidden) who may not do `act`, naming who may."""
    see(user)
    held = roles(user)
    if isinstance(held, rights.Held) and act not in held.acts:
        raise Forbidden(f"This token is not for that: with it you may not {WORDS.get(act, 'do this')}.")
    if not may(user, act):
        raise Forbidden(refusal(act))


def refusal(act: rights.Act) -> str:
    """Return the sentence for somebody who may not do `act`."""
    holders = [f"“{role}”" for role in rights.holders(act)]
    groups = holders[0] if len(holders) == 1 else f"{', '.join(holders[:-1])} or {holders[-1]}"
    return f"You may not {WORDS.get(act, 'do this')}; people in the group {groups} can."


def run_for(user: Person, run_id: int) -> models.Run:
    """Return the run with its agent and its people. Refuses 404 for who may not see it and where there is none.

    Refuses Erased where nothing is left to look at; so does everything else that gives a part of a run.
    """
    see(user)
    rows = models.Run.objects.select_related(
        "agent_version__agent", "created_by", "hold_by", "stop_by", "superseded_by"
    )
    return _whole(_one(rows.filter(scopes.seen(_person(user)), pk=run_id).first(), "run", run_id))


def watched(user: Person, topics: frozenset[str]) -> frozenset[str]:
    """Return those of the stream's topics that are about what the person may see. Refuses 404 for who sees nothing."""
    see(user)
    person = _person(user)
    if person is None or person.limit() is None:
        return topics
    runs = {int(name.removeprefix("run-")) for name in topics if name.startswith("run-")}
    seen = models.Run.objects.filter(scopes.seen(person), pk__in=runs).values_list("pk", flat=True)
    return topics & {"inbox", "queue", *(f"run-{number}" for number in seen)}


def review_for(user: Person, review_id: int) -> models.Review:
    """Return the review. Refuses 404 for who may not see it and where there is none."""
    see(user)
    rows = models.Review.objects.filter(scopes.seen(_person(user), f"run__{AGENT}"), pk=review_id)
    found = _one(rows.select_related("run").first(), "question", review_id)
    _whole(found.run)
    return found


def entry_for(user: Person, run_id: int, position: int) -> models.Entry:
    """Return one line of a run's log. Refuses 404 for who may not see it and where there is none."""
    see(user)
    run_for(user, run_id)
    rows = models.Entry.objects.filter(scopes.seen(_person(user), f"run__{AGENT}"), run=run_id)
    return _one(rows.filter(position=position).first(), "entry", position)


def checkpoint_for(user: Person, run_id: int, number: int) -> cuts.Cut:
    """Return a checkpoint of a run's path. Refuses 404 for who may not see it and where there is none."""
    return _one(cuts.find(run_for(user, run_id), number), "checkpoint", number)


def file_for(user: Person, run_id: int, sha256: str) -> tuple[str, bytes]:
    """Return name and bytes of a file that a line on the run's path names. Refuses 404 where none does."""
    run = run_for(user, run_id)
    if not exact.is_digest(sha256):
        raise Http404("There is no such file here.")
    lines = models.Entry.objects.filter(cuts.on([(int(at), int(last)) for at, last in cuts.of(run)]))
    # A text in a line can't hold this, its quotation marks are escaped.
    lines = lines.alias(stored=Cast("content", TextField())).filter(stored__contains=f'"sha256":"{sha256}"')
    contents = lines.order_by("position").values_list("content", flat=True).iterator(20)
    # Not only the first of them: what an agent says may hold the digest, and be no file's name.
    named = (path for content in contents for path, digest in filerefs.named(content) if digest == sha256)
    name = next(named, None)
    blob = None if name is None else models.Blob.objects.filter(sha256=sha256).first()
    if name is None or blob is None:
        raise Http404("There is no such file here.")
    return name, bytes(blob.content)


def effect_for(user: Person, run: models.Run, occurrence_id: int) -> models.Occurrence:
    """Return one effect of the run's lineage. Refuses 404 for who may not see it and where there is none."""
    see(user)
    rows = models.Occurrence.objects.filter(
        scopes.seen(_person(user), f"root__{AGENT}"), pk=occurrence_id, root=run.root_id
    )
    return _one(rows.first(), "effect", occurrence_id)


def agent_for(user: Person, name: str) -> models.Agent:
    """Return the agent of this name. Refuses 404 for who may not see it and where there is none."""
    see(user)
    rows = models.Agent.objects.filter(scopes.seen(_person(user), "pk"), name=name)
    row = rows.select_related("current").first()
    if row is None:
        raise NotThere("There is no such agent here.")
    return row


def view_for(user: Person, view_id: int) -> models.SavedView:
    """Return the person's own view of the inbox. Refuses 404 for anybody else's and where there is none."""
    see(user)
    rows = models.SavedView.objects.filter(pk=view_id, owner=user if isinstance(user, models.User) else None)
    return _one(rows.first(), "view", view_id)


def endpoint_for(user: Person, endpoint_id: int) -> models.Endpoint:
    """Return an endpoint of the installation. Refuses 404 where there is none."""
    see(user)
    return _one(models.Endpoint.objects.filter(pk=endpoint_id).first(), "endpoint", endpoint_id)


def token_of(secret: str) -> models.ApiToken | None:
    """Return the token with this secret that is in force, and its person narrowed to what it is for; else None."""
    digest = exact.digest_bytes(secret.encode("utf-8", "surrogatepass"))
    rows = models.ApiToken.objects.select_related("person").filter(
        digest=digest, revoked_at__isnull=True, expires_at__gt=Now(), person__is_active=True
    )
    found = rows.first()
    if found is not None:
        found.person.through = found.acts
    return found


def own_token(user: Person, token_id: int) -> models.ApiToken:
    """Return a token that the person may revoke: their own, or anybody's for who manages people. Refuses 404 else."""
    see(user)
    rows = models.ApiToken.objects.select_related("person")
    if not may(user, rights.Act.PEOPLE):
        rows = rows.filter(person=user if isinstance(user, models.User) else None)
    return _one(rows.filter(pk=token_id).first(), "token", token_id)


def delegation_for(user: Person, delegation_id: int) -> models.Delegation:
    """Return a delegation that the person sees: their own, or anybody's for who manages people. Refuses 404 else."""
    see(user)
    rows = models.Delegation.objects.all()
    if not may(user, rights.Act.PEOPLE):
        own = user if isinstance(user, models.User) else None
        rows = rows.filter(Q(principal=own) | Q(delegate=own))
    return _one(rows.filter(pk=delegation_id).first(), "delegation", delegation_id)


def shift_for(user: Person, shift_id: int) -> models.Shift:
    """Return a shift of the rota. Refuses 404 where there is none."""
    see(user)
    return _one(models.Shift.objects.filter(pk=shift_id).first(), "shift", shift_id)


def mcp_tool_for(user: Person, tool_id: int) -> models.McpTool:
    """Return a tool of an MCP server. Refuses 404 where there is none."""
    see(user)
    return _one(models.McpTool.objects.filter(pk=tool_id).first(), "tool", tool_id)


def _whole(run: models.Run) -> models.Run:
    if tombstone.is_erased(run):
        raise Erased(run)
    return run


def _one(row: Row | None, what: str, number: int) -> Row:
    if row is None:
        raise NotThere(f"There is no {what} {number} here.")
    return row
