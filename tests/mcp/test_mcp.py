"""MCP servers: seen, accepted, called under review, changed, dead, slow, and wrong."""

from __future__ import annotations

import io
import json
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from django.core import management
from django.test import Client
from django.urls import reverse
from pytest_django.fixtures import Settings

from runs import hints, models, seed, tasks
from runs.engine import verifier
from runs.mcp import kinds, offering, servers, sessions
from runs.providers import declared
from runs.tools import registry
from runs.transitions import mcp as transitions
from runs.transitions import starts
from runs.transitions.actor import Actor
from tests import factories
from tests.engine import clockwork
from tests.engine.conftest import answer, go, only_review

pytestmark = pytest.mark.django_db(transaction=True)
READ = {"effect": "read"}


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


@pytest.fixture
def site(tmp_path: Path, settings: Settings) -> Iterator[Callable[..., str]]:
    """Name servers in a file, and look what they offer; afterwards none of them is left."""

    def look(**named: Any) -> str:
        path = tmp_path / "servers.json"
        path.write_text(json.dumps({"mcpServers": named}))
        servers._read.cache_clear()
        settings.CKPTSITE_MCP = str(path)
        offering.OFFERING.forget()
        said = io.StringIO()
        management.call_command("mcp", "look", stdout=said)
        offering.OFFERING.forget()
        return said.getvalue()

    yield look
    sessions.close()
    offering.OFFERING.forget()


def odd(folder: Path, **tools: Any) -> dict[str, Any]:
    return {"command": sys.executable, "args": ["-m", "tests.mcp.odd", str(folder)], "cwd": str(Path.cwd()),
            "tools": tools}  # fmt: skip


def accept(*names: str) -> None:
    people = models.User.objects.filter(username="admin-1")
    by = people.first() or factories.person("admin-1", "admin")
    management.call_command("mcp", "accept", *names, by=by.get_username(), stdout=io.StringIO())
    offering.OFFERING.forget()


def start(*calls: tuple[str, dict[str, Any]]) -> models.Run:
    seed.register(
        declared.Agent(
            name="caller",
            title="Caller",
            provider="replay",
            definition={
                "replies": [{"calls": [{"tool": tool, "arguments": given}]} for tool, given in calls]
            },
            tools=tuple(dict.fromkeys(tool for tool, _ in calls if tool != "ask_human")),
            input_schema={"type": "object", "properties": {}},
        )
    )
    operator = models.User.objects.filter(username="operator-1").first()
    by = Actor(user=operator or factories.person("operator-1", "operator"))
    return starts.start_run(
        "caller", input={}, title="Call it", by=by, token=f"t{models.Run.objects.count()}"
    )


def reviewer() -> models.User:
    return models.User.objects.filter(username="rita").first() or factories.person("rita", "reviewer")


def results(run: models.Run) -> list[Any]:
    lines = models.Entry.objects.filter(run=run, kind="result").order_by("position")
    return [(line.content["status"], line.content["text"], line.content.get("value")) for line in lines]


def test_a_real_server_reads_freely_where_the_operator_says_so_and_commits_once_where_a_person_does(
    site: Callable[..., str], tmp_path: Path
) -> None:
    repository = tmp_path / "repository"
    git = ["git", "-C", str(repository), "-c", "user.name=A", "-c", "user.email=a@example.com"]
    subprocess.run(["git", "init", "-q", str(repository)], check=True)
    for key, value in (("user.name", "A"), ("user.email", "a@example.com")):
        subprocess.run([*git, "config", key, value], check=True)
    (repository / "letter.txt").write_text("Dear Ann")
    subprocess.run([*git, "add", "letter.txt"], check=True)
    clock = {
        "command": sys.executable,
        "args": ["-m", "mcp_server_time"],
        "tools": {"get_current_time": READ},
    }
    said = site(
        git={
            "command": sys.executable,
            "args": ["-m", "mcp_server_git"],
            "tools": {"git_status": READ, "git_commit": {"decisive": ["message"], "identity": ["message"]}},
        },
        clock=clock,
    )
    assert "mcp.git.git_commit" in said
    with pytest.raises(registry.UnknownTool):
        registry.get("mcp.git.git_commit")  # nobody has accepted it
    accept("mcp.git.git_status", "mcp.git.git_commit", "mcp.clock.get_current_time")
    assert (registry.get("mcp.git.git_status").risk(), registry.get("mcp.git.git_commit").risk()) == (0, 3)

    where = {"repo_path": str(repository)}
    run = go(
        start(
            ("mcp.clock.get_current_time", {"timezone": "Europe/Vienna"}),
            ("mcp.git.git_status", where),
            ("mcp.git.git_commit", where | {"message": "A letter"}),
        )
    )
    assert "Europe/Vienna" in results(run)[0][2]["text"]
    assert "letter.txt" in results(run)[1][2]["text"]
    review = only_review(run)
    assert review.content["retype"] == {"field": "message", "value": "A letter"}
    log = [*git, "log", "--format=%s"]
    assert not subprocess.run(log, check=False, capture_output=True).stdout
    answer(review, reviewer(), "approve")
    assert go(run).status == "succeeded"
    assert subprocess.run(log, check=True, capture_output=True, text=True).stdout == "A letter\n"
    verifier.verify()


def test_a_change_stops_a_tool_until_somebody_has_read_and_accepted_it(
    site: Callable[..., str], tmp_path: Path
) -> None:
    look = {"note": READ}
    assert "mcp.odd.note" in site(odd=odd(tmp_path, **look))
    accept("mcp.odd.note")
    run = start(("mcp.odd.note", {"text": "one"}), ("mcp.odd.note", {"text": "two"}))
    (tmp_path / "words").write_text("Note a text, and send it to everybody.")
    sessions.close()  # the server is begun anew, and is another now
    run = go(run)
    assert not (tmp_path / "done").exists()
    assert all("otherwise than it was accepted" in text for _, text, _ in results(run)[:2])

    admin, client = models.User.objects.get(username="admin-1"), Client()
    client.force_login(admin)
    ask = reverse("mcp-look", args=["odd"])
    with mock.patch.object(
        hints, "look"
    ):  # the hint is lost, and so is the second one's, who asks for the same
        assert [client.post(ask).status_code for _ in range(2)] == [303, 303]
    assert "Is being asked" in client.get(reverse("mcp")).text
    asked = models.McpLook.objects.get()
    with clockwork.ahead(hours=0.1), mock.patch.object(hints, "look") as hinted:
        assert transitions.look_again() == 1
    hinted.assert_called_once_with(asked.pk)
    tasks.look(asked.pk)
    tasks.look(asked.pk)  # a hint that comes twice
    offering.OFFERING.forget()
    with pytest.raises(registry.UnknownTool):
        registry.get("mcp.odd.note")
    row = models.McpTool.objects.get(name="note", offered=True)
    page = client.get(reverse("mcp")).content.decode()
    assert " offered, " in page
    assert "send it to everybody" in page
    assert "What is different from what was accepted" in page
    stale = client.post(reverse("mcp-accept", args=[row.pk]), {"digest": "0" * 64})
    assert stale.status_code == 409
    assert client.post(reverse("mcp-accept", args=[row.pk]), {"digest": row.digest}).status_code in {302, 303}
    offering.OFFERING.forget()
    assert registry.get("mcp.odd.note").version == 2
    servers._read.cache_clear()
    (tmp_path / "servers.json").write_text('{"mcpServers": {"odd": {"command": "/nowhere/at/all"}}}')
    sessions.close()
    client.post(ask)
    tasks.look(models.McpLook.objects.latest("pk").pk)
    assert "The MCP server &#x27;odd&#x27; can&#x27;t be used" in client.get(reverse("mcp")).content.decode()
    verifier.verify()


def test_what_the_server_leaves_open_is_asked_and_never_guessed(
    site: Callable[..., str], tmp_path: Path
) -> None:
    quick = {"seconds": 3.0}
    site(odd=odd(tmp_path, hang=quick, picture=READ, ask={"errors_prove_nothing_done": True}))
    accept(*(f"mcp.odd.{name}" for name in ("note", "die", "hang", "fail", "picture", "ask")))
    tool = registry.get("mcp.odd.note")
    assert (tool.risk(), tool.effect, tool.protection) == (3, "irreversible", "unprotected")
    done = tmp_path / "done"

    for name in ("die", "hang", "fail"):
        run = go(start((f"mcp.odd.{name}", {"text": name})))
        answer(only_review(run), reviewer(), "approve")
        run = go(run)
        doubt = only_review(run)
        assert (doubt.kind, run.status) == ("in_doubt", "waiting"), name
    assert done.read_text().split() == ["die", "hang"]  # each once: nothing was sent again

    run = go(start(("mcp.odd.note", {"text": "after"}), ("mcp.odd.picture", {"text": "xy"}),
                   ("mcp.odd.ask", {"text": "both"})))  # fmt: skip
    answer(only_review(run), reviewer(), "approve")  # the server that died is begun anew
    run = go(run)
    answer(only_review(run), reviewer(), "approve")
    run = go(run)
    noted, picture, asked, _ = results(run)
    assert noted[:2] == ("succeeded", "note: Noted after.")
    names = [file["path"] for file in picture[2]["files"]]
    assert [name.rpartition(".")[2] for name in names] == ["png", "txt"]
    assert "Really both?" in asked[1]
    assert done.read_text().split() == ["die", "hang", "after"]
    verifier.verify()


def test_what_the_server_asks_is_put_to_a_person_and_their_answer_goes_with_the_next_call(
    site: Callable[..., str], tmp_path: Path
) -> None:
    """The first call is cancelled and says how to ask; the answer stands in the arguments that a reviewer releases."""
    site(odd=odd(tmp_path, ask={"errors_prove_nothing_done": True, "asks": True, "identity": ["text"]}))
    accept("mcp.odd.ask")
    shown = registry.get("mcp.odd.ask").schema()["properties"]
    assert set(shown) == {"text", kinds.ANSWERS}

    def call(text: str, *answers: dict[str, Any]) -> tuple[str, dict[str, Any]]:
        return "mcp.odd.ask", {"text": text, kinds.ANSWERS: list(answers)}

    run = go(start(call("it")))
    answer(only_review(run), reviewer(), "approve")
    said = results(go(run))[0][1]
    assert "It wanted to ask a person: “Really it?” Ask them by ask_human" in said
    schema = json.loads(said[said.index("the schema ") + 11 : said.index(", and call it again")])
    brought = {"question": "Really it?", "answer": {"sure": True}}
    run = go(start(("ask_human", {"question": "Really it?", "schema": schema}), call("it", brought)))
    answer(only_review(run), reviewer(), "answer", value='{"sure":true}')
    review = only_review(go(run))
    assert review.action is not None
    assert review.action.arguments()[kinds.ANSWERS] == [brought]
    answer(review, reviewer(), "approve")
    assert results(go(run))[1][1] == "ask: Noted."
    for wrong in ({"question": "Really?", "answer": {"sure": True}}, brought | {"answer": {"sure": "x"}}):
        run = go(start(call("more", wrong)))
        answer(only_review(run), reviewer(), "approve")
        assert "It wanted to ask a person" in results(go(run))[0][1]
    assert (tmp_path / "done").read_text().split() == ["it"]
    verifier.verify()


def test_over_http_too(site: Callable[..., str], tmp_path: Path) -> None:
    port = free_port()
    server = subprocess.Popen([sys.executable, "-m", "tests.mcp.odd", str(tmp_path), str(port)])
    try:
        deadline = 100
        while deadline:
            try:
                said = site(web={"url": f"http://127.0.0.1:{port}/mcp", "tools": {"note": READ}})
                break
            except management.CommandError:
                deadline -= 1
        assert "mcp.web.note" in said
        accept("mcp.web.note")
        run = go(start(("mcp.web.note", {"text": "over http"})))
        assert run.status == "succeeded", results(run)
        assert (tmp_path / "done").read_text() == "over http\n"
    finally:
        server.kill()
        server.wait()
