"""The team page, the page of a person, and the link with which somebody joins."""

from __future__ import annotations

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST

from runs import access, rights
from runs.forms import joining
from runs.forms import team as forms
from runs.selectors import team_models, team_page
from runs.transitions import refusals, standing_in
from runs.transitions import team as transitions
from runs.transitions.actor import Actor
from runs.views import doors

Draft = team_models.Draft


@require_http_methods(["GET", "HEAD", "POST"])
@doors.allowed(rights.Act.VIEW)
def team(request: doors.Request) -> HttpResponse:
    """Show the team; a POST invites, makes a group, hands deciding on or puts somebody on the rota."""
    if request.method != "POST":
        return _team(request, Draft())
    act = request.POST.get("act", "")
    if act in {"invite", "group", "shift", "scope"}:
        access.require(request.user, rights.Act.PEOPLE)
    values = {name: str(value)[:4000] for name, value in request.POST.items()}
    chosen = (*request.POST.getlist("groups"), *request.POST.getlist("days"), *request.POST.getlist("agents"))
    draft = Draft(act=act, values=values, chosen=chosen)
    try:
        if act == "invite":
            return _invite(request)
        said = _ACTS[act](request)
    except KeyError:
        raise Http404("There is no such form.") from None
    except (refusals.Invalid, forms.Unreadable) as refusal:
        wrong = Draft(act=act, values=values, chosen=chosen, error=str(refusal))
        return _team(request, wrong, status=422)
    messages.success(request, said)
    return doors.lead(request, f"{reverse('team')}#{draft.act}")


@require_http_methods(["GET", "HEAD", "POST"])
@doors.allowed(rights.Act.PEOPLE)
def person(request: doors.Request, user_id: int) -> HttpResponse:
    """Show somebody; a POST changes their roles, switches them off or on, or makes a new link."""
    page = team_page.person(user_id, doors.viewer(request))
    if page is None:
        raise Http404(f"There is no person {user_id} here.")
    if request.method != "POST":
        return _person(request, page)
    by, act = doors.actor(request), request.POST.get("act", "")
    try:
        if act == "roles":
            wanted, seen = request.POST.getlist("groups"), request.POST.get("seen", "").split()
            transitions.set_groups(user_id, wanted, seen=seen, by=by)
            said = "Changed. It is in force now."
        elif act == "scope":
            names = transitions.set_scope(f"user {user_id}", request.POST.getlist("agents"), by=by)
            said = "Limited. It is in force now." if names else "There is no limit any more."
        elif act in {"link", "reset"}:
            make = transitions.new_link if act == "link" else transitions.reset
            _, secret = make(user_id, by=by)
            return _person(request, page, link=_address(request, secret))
        elif act in {"on", "off"}:
            transitions.switch(user_id, on=act == "on", by=by)
            said = (
                "Switched on."
                if act == "on"
                else "Switched off: sessions, tokens and delegations have ended."
            )
        else:
            raise Http404("There is no such form.")
    except refusals.Invalid as refusal:
        return _person(request, page, error=refusal.message, status=422)
    except refusals.Stale as refusal:
        return _person(request, page, error=refusal.message, status=409)
    messages.success(request, said)
    return doors.lead(request, reverse("person", args=[user_id]))


@require_POST
@doors.allowed(rights.Act.VIEW)
def end_delegation(request: doors.Request, delegation_id: int) -> HttpResponse:
    """End a delegation now; 409 where it is over."""
    row = access.delegation_for(request.user, delegation_id)
    standing_in.end(row.pk, by=doors.actor(request))
    messages.success(request, "Ended.")
    return doors.lead(request, f"{reverse('team')}#delegate")


@require_POST
@doors.allowed(rights.Act.PEOPLE)
def end_shift(request: doors.Request, shift_id: int) -> HttpResponse:
    """Take a shift off the rota; 409 where it is off it."""
    row = access.shift_for(request.user, shift_id)
    standing_in.end_shift(row.pk, by=doors.actor(request))
    messages.success(request, "Off the rota.")
    return doors.lead(request, f"{reverse('team')}#shift")


@require_http_methods(["GET", "HEAD", "POST"])
def join(request: HttpRequest, secret: str) -> HttpResponse:
    """Let an invited person choose a password; 404 for a link that is old, forged or used. A GET uses nothing up."""
    user = transitions.invited(secret)
    if user is None:
        raise access.NotThere(
            "This link works no more: it is older than a week, was used, or another took its place."
        )
    form = joining.Join(user, request.POST or None)
    if request.method == "POST" and form.is_valid():
        by = Actor(user=None, ip=doors.address(request))
        transitions.join(secret=secret, password=form.cleaned_data["new_password1"], by=by)
        messages.success(request, "Your password is set. Sign in with it.")
        response = HttpResponse(status=303)
        response["Location"] = reverse("login")
        return response
    errors = {name: " ".join(map(str, found)) for name, found in form.errors.items()}
    return render(request, "join.html", {"person": user, "errors": errors}, status=422 if errors else 200)


def _invite(request: doors.Request) -> HttpResponse:
    user, secret = transitions.invite(
        username=request.POST.get("username", ""),
        email=request.POST.get("email", ""),
        groups=request.POST.getlist("groups"),
        by=doors.actor(request),
    )
    return _team(request, Draft(), made={"name": user.get_username(), "link": _address(request, secret)})


def _group(request: doors.Request) -> str:
    group = transitions.make_group(request.POST.get("name", ""), by=doors.actor(request))
    return f"The group {group.name} is there. Put people into it on their pages, and name it in the policy."


def _delegate(request: doors.Request) -> str:
    principal = forms.number(request.POST.get("principal", "")) or request.user.pk
    row = standing_in.delegate(
        principal,
        forms.number(request.POST.get("to", "")),
        until=forms.end_of_day(request.POST.get("until", "")),
        reason=request.POST.get("reason", ""),
        by=doors.actor(request),
    )
    said = f"{row.delegate.display()} decides in {row.principal.display()}'s place until then"
    return (
        f"{said}, of the agents that they see themselves." if row.delegate.limit() is not None else f"{said}."
    )


def _shift(request: doors.Request) -> str:
    given = forms.shift(request.POST)
    standing_in.add_shift(
        group=given.group,
        person_id=given.person,
        days=given.days,
        starts=given.starts,
        ends=given.ends,
        since=given.since,
        until=given.until,
        by=doors.actor(request),
    )
    return "On the rota."


def _scope(request: doors.Request) -> str:
    name = request.POST.get("group", "")
    names = transitions.set_scope(f"group {name}", request.POST.getlist("agents"), by=doors.actor(request))
    return f"{name} is limited to {', '.join(names)}." if names else f"{name} has no limit any more."


_ACTS = {"scope": _scope, "group": _group, "delegate": _delegate, "shift": _shift}


def _address(request: HttpRequest, secret: str) -> str:
    return request.build_absolute_uri(reverse("join", args=[secret]))


def _team(
    request: doors.Request, draft: Draft, *, made: dict[str, str] | None = None, status: int = 200
) -> HttpResponse:
    page = team_page.page(doors.viewer(request), request.GET.dict())
    context = {"section": "team", "page": page, "draft": draft, "made": made}
    return render(request, "team.html", context, status=status)


def _person(
    request: doors.Request,
    page: team_models.PersonPage,
    *,
    link: str = "",
    error: str = "",
    status: int = 200,
) -> HttpResponse:
    context = {"section": "team", "page": page, "link": link, "error": error}
    return render(request, "person.html", context, status=status)
