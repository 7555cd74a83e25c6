"""The API as Django serves it: its operations, what goes wrong as problem documents, and its description."""

from __future__ import annotations

from typing import Any, cast

from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from ninja import NinjaAPI, errors
from ninja.openapi.schema import OpenAPISchema

from runs import access, exact, inputs, problems
from runs.api import described, door, reviews, runs, shapes, stream
from runs.transitions import api_calls, attempts, refusals
from runs.transitions.actor import Actor


class Api(NinjaAPI):
    """Ninja's, with everything in its description that stands before the operations; it is made once."""

    described: OpenAPISchema | None = None

    def get_openapi_schema(
        self, *, path_prefix: str | None = None, path_params: dict[str, Any] | None = None
    ) -> OpenAPISchema:
        """Return the OpenAPI document."""
        if self.described is None:
            made = super().get_openapi_schema(path_prefix=path_prefix, path_params=path_params)
            self.described = cast(OpenAPISchema, described.whole(made))
        return self.described


api = Api(
    title="ckptsite",
    version="1",
    description=described.TEXT,
    urls_namespace="api",
    docs_url=None,
    auth=door.Token(),
)
for part in (runs.router, reviews.router, stream.router):
    api.add_router("", part)


@api.exception_handler(errors.AuthenticationError)
def unknown(request: HttpRequest, error: errors.AuthenticationError) -> HttpResponse:
    """401."""
    sentence = "Send a token that is in force, as Authorization: Bearer ckpt_..."
    if "Authorization" in request.headers:
        _noted(request, "no_token", "The token is unknown, over or revoked.")
    return problems.response(
        401, sentence, kind="no-token", headers={"WWW-Authenticate": 'Bearer realm="ckptsite"'}
    )


@api.exception_handler(door.Refused)
def turned_away(request: HttpRequest, error: door.Refused) -> HttpResponse:
    """400, 409, 413, 415, 429."""
    return problems.response(
        error.code, error.detail, kind=error.kind, more=error.more, headers=error.headers
    )


@api.exception_handler(Http404)
def missing(request: HttpRequest, error: Http404) -> HttpResponse:
    """404: not there, or not to be seen through this token."""
    if isinstance(error, access.NoGroup):
        _noted(request, "no_group", str(error))
    elif isinstance(error, access.NotThere) and request.method == "POST":
        _noted(request, "not_there", str(error))
    known = isinstance(error, access.NoGroup) or str(error).startswith("There is no ")
    return problems.response(
        404, str(error) if known else "There is nothing at this address.", kind="not-found"
    )


@api.exception_handler(access.Erased)
def erased(request: HttpRequest, error: access.Erased) -> HttpResponse:
    """410: nothing is left of the run to read."""
    about = {"run": error.run.pk, "run_status": error.run.status}
    return problems.response(410, str(error), kind="erased", more=about)


@api.exception_handler(PermissionDenied)
def forbidden(request: HttpRequest, error: PermissionDenied) -> HttpResponse:
    """403, with the sentence that says why."""
    known = isinstance(error, access.Forbidden)
    _noted(request, "not_yours", str(error))
    return problems.response(403, str(error) if known else "You may not do this.", kind="not-yours")


@api.exception_handler(refusals.Refused)
def refused(request: HttpRequest, error: refusals.Refused) -> HttpResponse:
    """What a transition refused: whose it is (403), what doesn't fit (422), or what was faster (409)."""
    if isinstance(error, refusals.NotYours):
        return problems.response(403, error.message, kind="not-yours")
    if isinstance(error, refusals.Invalid):
        kind = "idempotency-key-reused" if isinstance(error, api_calls.OtherRequest) else "invalid"
        return problems.response(422, error.message, kind=kind)
    if isinstance(error, api_calls.InFlight):
        return problems.response(409, error.message, kind="in-flight", headers={"Retry-After": "1"})
    return problems.response(409, error.message, kind="stale")


@api.exception_handler(errors.ValidationError)
def unfit(request: HttpRequest, error: errors.ValidationError) -> HttpResponse:
    """422, with a JSON pointer to each field of the body, or the name of each parameter, that doesn't fit."""
    faults = [_fault(tuple(found["loc"]), str(found["msg"])) for found in error.errors]
    if request.method == "POST":  # a field that isn't the operation's may be a try, whoever makes it
        _noted(request, "invalid", "; ".join(fault["detail"] for fault in faults[:3]))
    return problems.response(
        422, "Something in this request doesn't fit.", kind="invalid", more={"errors": faults}
    )


@api.exception_handler(inputs.BadInput)
def bad_input(request: HttpRequest, error: inputs.BadInput) -> HttpResponse:
    """422, with a pointer to the input."""
    return _about(str(error), "agent" if error.field == "agent" else f"input/{_escaped(error.field)}")


@api.exception_handler(shapes.NotBase64)
def not_base64(request: HttpRequest, error: shapes.NotBase64) -> HttpResponse:
    """422, with a pointer to the file."""
    return _about(str(error), f"files/{_escaped(error.name)}/content")


@api.exception_handler(exact.NotExact)
def not_exact(request: HttpRequest, error: exact.NotExact) -> HttpResponse:
    """422: a value that can't be kept exactly."""
    return problems.response(422, str(error), kind="invalid")


def _noted(request: HttpRequest, code: str, reason: str) -> None:
    """Write down who was turned away before any transition was asked."""
    route = request.resolver_match
    keys = route.kwargs if route else {}
    wanted = route.url_name if route else ""
    # A list takes new ones at its own address, and Django knows that by its first name only.
    name = f"api.{'start' if wanted == 'listed' and request.method == 'POST' else wanted}" if route else "api"
    subject = next((f"{key.removesuffix('_id')} {value}" for key, value in keys.items()), name)
    by = (
        door.actor(request)
        if door.known(request)
        else Actor(user=None, channel="api", ip=door.address(request))
    )
    attempts.note(name, code=code, reason=reason, subject=subject, by=by)


def _about(sentence: str, pointer: str) -> HttpResponse:
    more = {"errors": [{"detail": sentence, "pointer": f"#/{pointer}"}]}
    return problems.response(422, sentence, kind="invalid", more=more)


def _fault(place: tuple[Any, ...], sentence: str) -> dict[str, str]:
    """Return one fault; ninja names the place as (source, argument's name, field ...)."""
    if place[:1] == ("body",):
        return {"detail": sentence, "pointer": "#" + "".join(f"/{_escaped(str(part))}" for part in place[2:])}
    return {"detail": sentence, "parameter": str(place[-1])}


def _escaped(part: str) -> str:
    """Return one part of a JSON pointer (RFC 6901)."""
    return part.replace("~", "~0").replace("/", "~1")
