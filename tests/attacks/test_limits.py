"""Limits: how much one request carries, how often one asks, how much one agent can ask; and nothing is unpickled."""

from __future__ import annotations

import ast
import http.client
import pickle
import time
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
import redis
from django.conf import settings as configured
from django.core.cache import cache
from django.db import connection
from django.test import Client
from django.urls import reverse
from kombu import exceptions, serialization

from ckptsite import bodies, counts
from ckptsite.celery import app
from runs import live, models
from runs.engine import verifier
from tests import factories
from tests.core import tampering
from tests.pages.conftest import As
from tests.pages.test_pages import text

pytestmark = pytest.mark.django_db(transaction=True)
CODE = Path(verifier.__file__).resolve().parent.parent.parent
OWN_CHILD = {"runs/testing/trials.py"}
"""The proof of a tool reads what its own child process writes into its own pipe."""


class Planted:
    """Whoever unpickles this has run somebody else's code."""

    run = False

    def __reduce__(self) -> tuple[Any, ...]:
        return (exec, ("from tests.attacks.test_limits import Planted; Planted.run = True",))


def test_more_than_a_request_may_carry_is_refused_before_it_is_read(
    asgi_server: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Said in its length, or sent in pieces without one; to a page and to the API."""
    from ckptsite import asgi

    assert isinstance(asgi.application, bodies.Bounded)
    monkeypatch.setattr(asgi.application, "most", 1000)
    place = urlsplit(asgi_server).netloc
    for path, length, kind in (
        ("/login/", "1001", "text/plain"),
        ("/api/v1/runs", "1001", "application/problem+json"),
        ("/login/", None, "text/plain"),
    ):
        caller = http.client.HTTPConnection(place, timeout=10)
        caller.putrequest("POST", path)
        if length:
            caller.putheader("Content-Length", length)
        else:
            caller.putheader("Transfer-Encoding", "chunked")
        caller.endheaders(
            b"" if length else b"".join(b"1f4\r\n" + b"x" * 500 + b"\r\n" for _ in range(3)) + b"0\r\n\r\n"
        )
        answer = caller.getresponse()
        assert answer.status == 413, path
        assert (answer.headers["Content-Type"] or "").startswith(kind)
        caller.close()


def test_who_asks_too_often_waits_and_is_noted_once_a_minute(
    who: factories.People, as_: As, settings: Any
) -> None:
    """One person wherever they come from, and one address whoever they say they are."""
    settings.CKPTSITE_PAGE_RATE, settings.CKPTSITE_ADDRESS_RATE = 3, 6
    client, other = as_(who.viewer), as_(who.operator)
    if time.time() % 60 > 57:  # no minute shall begin in between
        time.sleep(4)
    codes = [client.get(reverse("runs")).status_code for _ in range(4)]
    assert codes == [200, 200, 200, 429]
    answer = client.get(reverse("runs"))
    assert answer.status_code == 429
    assert 1 <= int(answer["Retry-After"]) <= 60
    assert "Too many requests" in answer.content.decode()
    assert models.Refusal.objects.filter(actor=who.viewer, code="too_many").count() == 1
    assert [other.get(reverse("runs")).status_code for _ in range(3)][-1] == 429  # from the same address
    assert Client(REMOTE_ADDR="10.9.9.9").get(reverse("login")).status_code == 200


def test_tries_count_in_all_processes_together_and_in_each_alone_without_valkey(
    who: factories.People,
) -> None:
    """Each process has a client of its own; nothing that Valkey holds besides is touched."""
    server = redis.Redis.from_url(configured.REDIS_CLIENT)
    server.set("a-hint", "kept")
    one, other = counts.Client([configured.REDIS_CLIENT]), counts.Client([configured.REDIS_CLIENT])
    key = counts.named("shared", "", 1)
    assert (one.add(key, 0, 60), other.add(key, 0, 60)) == (True, False)
    assert [one.incr(key, 1), other.incr(key, 1), one.incr(key, 1)] == [1, 2, 3]
    assert 0 < server.ttl(key) <= 60
    cache.clear()
    assert (one.get(key, "none"), server.get("a-hint")) == ("none", b"kept")
    with pytest.raises(ValueError, match="not found"):
        one.incr(key, 1)
    server.delete("a-hint")
    server.close()
    alone = counts.Client(["unix:///nowhere/valkey.sock?db=0"])
    assert (alone.add(key, 0, 60), alone.incr(key, 1), alone.get(key, 0)) == (True, 1, 1)
    assert (alone.delete(key), alone.has_key(key)) == (True, False)


def test_ten_thousand_questions_of_one_agent_leave_the_inbox_usable(who: factories.People, as_: As) -> None:
    """The page comes as soon as ever, and what another agent asks is one step away."""
    flood, other = factories.held(who.operator, name="flood"), factories.held(who.operator, name="needle")
    client, place = as_(who.reviewer), reverse("inbox")
    text(client, place)
    before = quickest(client, place)
    assert flood.action is not None
    reply = models.Entry.objects.get(run=flood.run, position=flood.action.reply_position)
    entries, calls, questions = (
        ", ".join(str(field.column) for field in model._meta.concrete_fields if field.name != "id")
        for model in (models.Entry, models.Action, models.Review)
    )
    with connection.cursor() as cursor:
        cursor.execute(
            f"INSERT INTO runs_entry ({entries}) SELECT {entries.replace('position', '1000 + n')}"
            " FROM runs_entry, generate_series(1, 10000) n WHERE id = %s",
            [reply.pk],
        )
        cursor.execute(
            f"WITH made AS (INSERT INTO runs_action ({calls})"
            f" SELECT {calls.replace('reply_position', '1000 + n')} FROM runs_action, generate_series(1, 10000) n"
            f" WHERE id = %s RETURNING id) INSERT INTO runs_review ({questions})"
            f" SELECT {questions.replace('action_id', 'made.id', 1)} FROM runs_review r, made WHERE r.id = %s",
            [flood.action.pk, flood.pk],
        )
        cursor.execute("ANALYZE runs_action")
        cursor.execute("ANALYZE runs_review")
    page = text(client, place)
    after = quickest(client, place)
    assert after < 0.2 or after < 5 * before, (before, after)  # others may use this machine meanwhile
    assert page.count("data-row") < 120  # the rest is on later pages
    agent = other.run.agent_version.agent.name
    for narrowed in (f"?agent={agent}", "?q=needle"):
        found = text(client, place + narrowed)
        assert f"/reviews/{other.pk}/" in found
        assert f"/reviews/{flood.pk}/" not in found


def quickest(client: Client, place: str) -> float:
    """Return the seconds that the page takes where nothing is in its way."""
    times = []
    for _ in range(4):
        begun = time.perf_counter()
        text(client, place)
        times.append(time.perf_counter() - begun)
    return min(times)


def test_nothing_anywhere_is_unpickled(who: factories.People) -> None:
    """Neither the code nor a setting knows pickle at a store, and bytes planted at each are refused."""
    found = set()
    for file in [*CODE.glob("runs/**/*.py"), *CODE.glob("ckptsite/**/*.py")]:
        for node in ast.walk(ast.parse(file.read_text())):
            names = [part.name for part in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            if {name.split(".")[0] for name in names} & {"pickle", "marshal", "shelve", "dill", "joblib"}:
                found.add(str(file.relative_to(CODE)))
    assert found == OWN_CHILD
    assert list(app.conf.accept_content) == ["json"]
    assert (app.conf.task_serializer, app.conf.task_ignore_result) == ("json", True)
    assert app.conf.result_backend is None
    assert configured.SESSION_ENGINE == "runs.models.session"  # rows of the database, as JSON
    assert configured.SESSION_SERIALIZER == "django.contrib.sessions.serializers.JSONSerializer"
    assert {cache["BACKEND"] for cache in configured.CACHES.values()} == {"ckptsite.counts.Counts"}  # JSON
    planted = pickle.dumps(Planted())
    with pytest.raises(exceptions.ContentDisallowed):
        serialization.loads(
            planted, "application/x-python-serialize", "binary", accept=app.conf.accept_content
        )
    live.Hub()._pass_on(planted)  # a hint
    server = redis.Redis.from_url(configured.REDIS_CLIENT)
    server.publish("ckptsite", planted)
    server.set(counts.named("tries", "", 1), planted)
    assert cache.get("tries", []) == []
    server.close()
    client = Client()
    client.force_login(who.viewer)
    models.Session.objects.update(session_data=planted.hex())
    assert client.get(reverse("inbox")).status_code == 302
    with tampering.unhindered(), connection.cursor() as cursor:
        cursor.execute("UPDATE runs_installation SET switches = %s", [repr(planted)])
        with pytest.raises(ValueError):  # noqa: PT011 - whatever says that it is no JSON
            models.Installation.objects.get(pk=1)
    assert not Planted.run
