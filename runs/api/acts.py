"""Carrying a request out once: claimed under its key, acted on, answered; repeated, it gets the same answer."""

from __future__ import annotations

import datetime
import json
from collections.abc import Callable

from django.http import HttpResponse
from pydantic import BaseModel

from runs import exact
from runs.api import door
from runs.transitions import api_calls
from runs.transitions.actor import Actor

REPLAYED = "Idempotency-Replayed"


def once(
    request: door.Request,
    act: Callable[[Actor, str], int],
    shown: Callable[[int], BaseModel],
    *,
    status: int = 200,
) -> HttpResponse:
    """Return the answer to a request that changes something.

    `act` gets who acts and the single-use token of this request, and returns the id of the run that it changed or
    made; `shown` makes the answer of that. What `act` refuses leaves nothing behind.
    """
    wanted = exact.link("api", request.method or "", request.path, exact.digest_of(request.given))
    call = api_calls.claim(request.auth, key=request.key, request=wanted)
    if call.code is not None:
        return _answer(call.code, call.body, {REPLAYED: "true"})
    again = call.done
    if again and call.run_id is not None:
        run_id = call.run_id
    else:
        try:
            run_id = act(door.actor(request, call), api_calls.single_use(call))
        except BaseException:
            api_calls.release(call)
            raise
    try:
        body = text(shown(run_id))
    except BaseException:
        api_calls.release(call)
        raise
    api_calls.keep(call, code=status, body=body)
    return _answer(status, body, {REPLAYED: "true"} if again else {})


def text(record: BaseModel) -> str:
    """Return a record as JSON in ASCII: what agents wrote may hold what no UTF-8 can carry, also as a name."""
    return json.dumps(record.model_dump(), allow_nan=False, default=_time)


def _time(moment: datetime.datetime) -> str:
    return moment.isoformat().replace("+00:00", "Z")


def answer(record: BaseModel) -> HttpResponse:
    """Return the answer to a request that only reads."""
    return _answer(200, text(record), {})


def _answer(status: int, body: str, headers: dict[str, str]) -> HttpResponse:
    return HttpResponse(body, status=status, content_type="application/json", headers=headers)
