"""What the OpenAPI document says of every operation: the key of acts, and the problems that may come back."""

from __future__ import annotations

from typing import Any

from runs import problems
from runs.api import door, shapes

TEXT = """\
Programs start, read, pause, stop and decide with a token of a person, sent as `Authorization: Bearer ckpt_...`. A token
never lets more through than its person may; one of an agent or a service never decides.

Every POST carries an `Idempotency-Key` of your own: repeat a request with the same key and it is carried out once, and
gets the same answer (`Idempotency-Replayed: true`), for 24 hours. Another request under the same key is 422, a
repetition while the first is under way 409. What was refused did nothing, so its key is free again.

Errors are problem documents (RFC 9457). Lists are paged: follow `next` until it is null. Times are ISO 8601.
"""
KEY = {
    "name": "Idempotency-Key",
    "in": "header",
    "required": True,
    "description": "Any text of your own: new for each act, the same when you repeat it.",
    "schema": {
        "type": "string",
        "minLength": 1,
        "maxLength": door.LONGEST_KEY,
        "pattern": "^[A-Za-z0-9_.:-]+$",
    },
}
ALWAYS = {
    401: "No token that is in force",
    403: "Not this token's, or not this person's",
    404: "Not there, or not to be seen through this token",
    410: "Erased by the policy of this site; the sentence says what and when",
    422: "Something doesn't fit; `errors` says what",
    429: "Too many requests; see Retry-After",
    503: "The database is away; see Retry-After",
}
OF_ACTS = {
    400: "No Idempotency-Key, or a body that isn't exact JSON",
    409: "Somebody was faster, or the same request is under way",
    413: "The body is too large",
    415: "The body isn't application/json",
}


def whole(schema: dict[str, Any]) -> Any:
    """Return the document with what stands before the operations."""
    schema["components"]["schemas"] |= _problem()
    for operations in schema["paths"].values():
        for method, operation in operations.items():
            known = ALWAYS | (OF_ACTS if method == "post" else {})
            operation["responses"] |= {str(status): _told(words) for status, words in sorted(known.items())}
            if method == "post":
                operation.setdefault("parameters", []).append(KEY)
            if operation["operationId"] == "stream_changes":
                operation["responses"][200] = {
                    "description": "Events, for ever",
                    "content": {"text/event-stream": {"schema": {"type": "string"}}},
                }
    return schema


def _told(words: str) -> dict[str, Any]:
    content = {problems.MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}}
    return {"description": words, "content": content}


def _problem() -> dict[str, Any]:
    found = shapes.Problem.model_json_schema(ref_template="#/components/schemas/{model}")
    return {**found.pop("$defs"), "Problem": found}
