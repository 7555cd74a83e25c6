"""The stream: hints of one's topics, resync first and after an overflow or a gap, and no connection held."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from unittest import mock
from urllib.parse import urlsplit

import pytest
import redis
from django.conf import settings
from django.db import connection
from django.test import AsyncClient, Client
from django.urls import reverse

from runs import access, hints, live, models
from runs.transitions import team, tokens
from runs.transitions.actor import Actor
from tests import factories, waiting
from tests.engine.conftest import go
from tests.pages.conftest import As
from tests.pages.test_decisions import fields

pytestmark = pytest.mark.django_db(transaction=True)


class Stream:
    """One open stream, read as a browser would."""

    def __init__(self, server: str, client: Client, query: str) -> None:
        parts = urlsplit(server)
        self.socket = socket.create_connection((parts.hostname or "", parts.port or 0), timeout=10)
        cookie = "; ".join(f"{name}={morsel.value}" for name, morsel in client.cookies.items())
        head = f"GET {reverse('events')}?{query} HTTP/1.1\r\nHost: {parts.netloc}\r\nCookie: {cookie}\r\n\r\n"
        self.socket.sendall(head.encode())
        self.text = ""

    def until(self, part: str) -> str:
        """Return what has come once `part` is in it."""
        while part not in self.text:
            piece = self.socket.recv(4096)
            assert piece, f"closed before {part!r}: {self.text!r}"
            self.text += piece.decode()
        return self.text

    def close(self) -> None:
        """Go away as a closed tab does."""
        with contextlib.suppress(OSError):
            self.socket.shutdown(socket.SHUT_RDWR)
        self.socket.close()


@pytest.fixture
def client(who: factories.People) -> Client:
    """A viewer's client."""
    client = Client()
    client.force_login(who.viewer)
    return client


@pytest.fixture
def opened(client: Client) -> Iterator[list[Stream]]:
    """Open streams; all are closed afterwards."""
    streams: list[Stream] = []
    yield streams
    for stream in streams:
        stream.close()


def subscribers() -> int:
    """Return how many processes listen for hints on Valkey."""
    pairs = redis.Redis.from_url(settings.REDIS_CLIENT).pubsub_numsub(hints.CHANNEL)
    return int(pairs[0][1])


def test_hints_come_by_name_and_only_those_asked_for(
    asgi_server: str, client: Client, opened: list[Stream], who: factories.People
) -> None:
    run = factories.start(who.operator)
    stream = Stream(asgi_server, client, f"t=inbox&t=run-{run.pk}&t=nonsense")
    opened.append(stream)
    head = stream.until("event: resync")
    assert "200 OK" in head
    assert "text/event-stream" in head
    assert "no-store" in head
    waiting.until(lambda: subscribers() == 1, what="the process listens")
    review = factories.held(who.operator)  # another run: its inbox hint comes, its own does not
    stream.until("event: inbox\n")
    assert f"run-{review.run_id}\n" not in stream.text
    go(run)
    stream.until(f"event: run-{run.pk}\n")


def test_thirty_streams_hold_no_database_connection_and_one_subscription(
    asgi_server: str, client: Client, opened: list[Stream]
) -> None:
    name = connection.settings_dict["NAME"]

    def backends() -> int:
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT count(*) FROM pg_stat_activity WHERE datname = %s AND pid <> pg_backend_pid()", [name]
            )
            return int(cursor.fetchone()[0])

    opened.extend(Stream(asgi_server, client, "t=inbox") for _ in range(30))
    for stream in opened:
        stream.until("event: resync")
    waiting.until(lambda: backends() <= 1, what="streams give their connections back")
    waiting.until(lambda: subscribers() == 1, what="one subscription for all")
    redis.Redis.from_url(settings.REDIS_CLIENT).publish(hints.CHANNEL, '{"topic": "inbox"}')
    began = time.monotonic()
    for stream in opened:
        stream.until("event: inbox\n")
    assert time.monotonic() - began < 5
    for stream in opened:
        stream.close()
    waiting.until(lambda: subscribers() == 0, what="nobody listens any more")


def test_after_a_gap_every_page_looks_again(
    asgi_server: str, client: Client, opened: list[Stream], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live, "RETRY_SECONDS", 0.05)
    stream = Stream(asgi_server, client, "t=inbox")
    opened.append(stream)
    stream.until("event: resync")
    waiting.until(lambda: subscribers() == 1)
    server = redis.Redis.from_url(settings.REDIS_CLIENT)
    server.publish(hints.CHANNEL, "not JSON")
    server.client_kill_filter(_type="pubsub")  # as when Valkey is started again
    stream.text = stream.text.split("event: resync", 1)[1]
    stream.until("event: resync")
    assert stream.text.count("event: resync") == 1


def test_a_slow_reader_is_told_to_look_again_and_nothing_piles_up() -> None:
    async def scene() -> list[str]:
        hub = live.Hub()
        hub._read = _nothing  # type: ignore[method-assign]
        queue = hub.join(frozenset({"inbox"}))
        other = hub.join(frozenset({"run-1"}))
        for _ in range(live.QUEUE + 1):
            hub.tell("inbox")
        found = [queue.get_nowait() for _ in range(queue.qsize())]
        assert other.empty()
        hub.leave(queue)
        hub.leave(other)
        assert len(hub) == 0
        return found

    assert asyncio.run(scene()) == [live.RESYNC]


async def _nothing() -> None:
    await asyncio.sleep(0)


def test_topics_are_what_there_is() -> None:
    assert live.topics(["inbox", "run-12", "run-0", "run-x", "inbox\n", "run-1\nevent: x", "runs"]) == {
        "inbox",
        "run-12",
    }
    assert len(live.topics(f"run-{number}" for number in range(1, 1000))) == live.TOPICS


def test_who_may_not_see_hears_nothing(who: factories.People) -> None:
    async def statuses() -> tuple[int, int, int]:
        stranger, nobody = AsyncClient(), AsyncClient()
        await nobody.aforce_login(who.nobody)
        place = reverse("events")
        found = (
            (await stranger.get(place)).status_code,
            (await nobody.get(place)).status_code,
            (await nobody.post(place)).status_code,
        )
        await live.released()  # the test client keeps the connection of its thread open
        return found

    assert asyncio.run(statuses()) == (401, 404, 405)


def test_who_is_limited_to_some_agents_hears_only_of_their_runs(who: factories.People) -> None:
    mine, other = factories.start(who.operator), factories.demo_run(who.operator, "north.csv")
    models.Scope.objects.create(person=who.viewer, agent=mine.agent_version.agent)
    wanted = frozenset({"inbox", f"run-{mine.pk}", f"run-{other.pk}"})
    assert access.watched(models.User.objects.get(pk=who.viewer.pk), wanted) == wanted - {f"run-{other.pk}"}
    assert access.watched(who.operator, wanted) == wanted


def test_a_stream_ends_so_that_rights_are_looked_at_again() -> None:
    async def heard() -> list[bytes]:
        return [event async for event in live.stream(frozenset({"inbox"}), person=1)]

    with mock.patch.object(live, "LIFE_SECONDS", 0.0):
        assert asyncio.run(heard()) == [live.event(live.RESYNC)]


def test_the_streams_of_who_signs_out_or_may_see_less_end_at_once(who: factories.People, as_: As) -> None:
    """They hear it on a topic of their own, which nobody can ask for, and nothing after it; others' streams go on."""

    async def heard(*told: str) -> list[str]:
        hub = live._hub()
        hub._read = _nothing  # type: ignore[method-assign]
        found = []
        async for event in live.stream(frozenset({"inbox"}), person=7):
            found.append(event.decode().split()[1])
            for name in told if len(found) == 1 else ():
                hub.tell(name)
        return found

    full = ["inbox"] * (live.QUEUE + 1)
    assert asyncio.run(heard("person-8", "inbox", *full, "person-7", *full)) == ["resync"]
    assert not live.topics(["person-7"])
    client = as_(who.viewer)
    settings_page = client.get(reverse("settings"))
    by = Actor(user=who.admin)
    with mock.patch.object(hints, "_publish") as sent:
        tokens.revoke(tokens.create(name="t", kind="agent", acts=[], days=7, form="f", by=by)[0].pk, by=by)
        team.set_groups(who.reviewer.pk, ["viewer"], seen=["reviewer"], by=by)
        team.set_scope("group viewer", [models.Agent.objects.create(name="a").name], by=by)
        client.post(reverse("logout"), fields(settings_page.content.decode(), form="logout"))
    told = {name for call in sent.call_args_list for name in call.kwargs.get("names", ())}
    assert told == {hints.person(one.pk) for one in (who.admin, who.reviewer, who.viewer)}


@pytest.fixture
def served(child_environment: dict[str, str]) -> Iterator[str]:
    """The address of the site in a process of its own, as `up` runs it, with a pool of four connections."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    command = [sys.executable, "-m", "uvicorn", "ckptsite.asgi:application", "--port", str(port)]
    command += ["--lifespan", "off", "--timeout-graceful-shutdown", "1", "--log-level", "warning"]
    environment = {**child_environment, "CKPTSITE_ROLE": "web", "CKPTSITE_POOL": "4"}
    process = subprocess.Popen(command, env=environment)
    address = f"http://127.0.0.1:{port}"
    waiting.until(lambda: status(f"{address}{reverse('healthz')}") == 200, within=60, what="the site answers")
    yield address
    process.terminate()
    process.wait(20)


def status(address: str, cookie: str = "") -> int:
    """Return the status of a page, 0 while nothing answers."""
    try:
        with urllib.request.urlopen(urllib.request.Request(address, headers={"Cookie": cookie})) as response:
            return int(response.status)
    except urllib.error.HTTPError as error:
        return error.code
    except OSError:
        return 0


def test_thirty_streams_leave_a_pool_of_four_free(served: str, client: Client, opened: list[Stream]) -> None:
    opened.extend(Stream(served, client, "t=inbox") for _ in range(30))
    for stream in opened:
        stream.until("event: resync")
    cookie = "; ".join(f"{name}={morsel.value}" for name, morsel in client.cookies.items())
    assert [status(f"{served}{reverse('inbox')}", cookie) for _ in range(6)] == [200] * 6
