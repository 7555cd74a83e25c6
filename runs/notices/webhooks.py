"""A signed request to one endpoint."""

from __future__ import annotations

import time
from collections.abc import Callable

from django.conf import settings

from runs import exact, models
from runs.net import signing
from runs.notices import http


def sending(row: models.Delivery, *, both: bool) -> Callable[[], str]:
    """Return what sends it and returns the answer's status. `both`: the secret before the last rotation signs too."""
    endpoint = row.endpoint
    assert endpoint is not None
    body = exact.canonical(row.notice.body or {}, limit=None).encode("ascii")
    generations = [endpoint.generation, *([endpoint.generation - 1] if both else [])]
    secrets = [secret_of(endpoint, generation=one) for one in generations]
    event, url = str(row.notice.event), endpoint.url

    def send() -> str:
        headers = signing.headers(secrets, event=event, timestamp=int(time.time()), body=body)
        answer = http.post(url, headers=headers, body=body)
        http.taken(answer, who="The endpoint")
        return str(answer.status)

    return send


def secret_of(endpoint: models.Endpoint, *, generation: int | None = None) -> str:
    """Return the endpoint's secret, for its one showing and for signing."""
    known = endpoint.generation if generation is None else generation
    return signing.secret(settings.KEY_HMAC, salt=endpoint.salt, generation=known)
