"""The web tools against real servers: what may be asked, what is sent, and what an answer means."""

from __future__ import annotations

import ipaddress
import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from pytest_django import Settings

from runs.net import http as wire
from runs.tools import configured, contract, http, registry
from tests.notices.outside import Receiver
from tests.tools.call import Call


@pytest.fixture
def server(settings: Settings) -> Iterator[Receiver]:
    receiver = Receiver()
    receiver.start()
    settings.CKPTSITE_OUTGOING = [ipaddress.ip_network("127.0.0.0/8")]
    named = [f"127.0.0.1:{receiver.port}"]
    settings.CKPTSITE_TOOLS = {"http": {"read": named, "write": named, "once": {named[0]: 2}}}
    yield receiver
    receiver.stop()


def says(status: int, body: bytes = b"", **headers: str) -> Callable[[Any], Any]:
    return lambda _request: (status, {name.replace("_", "-"): text for name, text in headers.items()}, body)


def post(server: Receiver, call: Call | None = None, **changes: Any) -> contract.Receipt:
    tool = http.Request()
    given = {"url": server.url("/orders"), "body": '{"a": 1}', "reference": "Order 7"} | changes
    return tool.run(tool.parse(given), call or Call(idempotency_key="k1"))


def test_what_is_sent_and_what_comes_back(server: Receiver) -> None:
    server.answer = says(201, b'{"id": 7}', Content_Type="application/json", ETag='"x"', Set_Cookie="s=1")
    receipt = post(server, headers={"X-Shop": "north"})
    (request,) = server.taken
    assert (request.path, request.body) == ("/orders", b'{"a": 1}')
    assert request.headers["idempotency-key"] == "k1"
    assert request.headers["content-type"] == "application/json"
    assert request.headers["x-shop"] == "north"
    assert receipt.value["status"] == 201
    assert json.loads(receipt.value["body"]) == {"id": 7}
    assert receipt.value["headers"] == {"content-type": "application/json", "etag": '"x"'}

    http.Replace().run(
        http.Replace.parse(
            {"method": "DELETE", "url": server.url("/orders/7"), "reference": "x", "if_match": '"x"'}
        ),
        Call(),
    )
    assert server.taken[1].headers["if-match"] == '"x"'
    assert "content-type" not in server.taken[1].headers


@pytest.mark.parametrize("status", [400, 404, 409, 422, 429, 307])
def test_what_a_server_refuses_did_not_happen(server: Receiver, status: int) -> None:
    server.answer = says(status, b"no such order", Location="http://169.254.169.254/")
    with pytest.raises(contract.DidNotHappen, match=f"answered {status} .*no such order") as caught:
        post(server)
    assert caught.value.retryable is (status == 429)
    assert len(server.taken) == 1


@pytest.mark.parametrize(("status", "attempt"), [(500, 1), (503, 1), (302, 1), (409, 2), (412, 2), (422, 2)])
def test_what_a_server_leaves_open_is_unknown(server: Receiver, status: int, attempt: int) -> None:
    server.answer = says(status)
    with pytest.raises(wire.NoAnswer):
        post(server, Call(attempt=attempt))


def test_what_never_left_did_not_happen(server: Receiver, settings: Settings) -> None:
    with pytest.raises(contract.DidNotHappen, match="over before it was sent"):
        post(server, Call(seconds=0))
    with pytest.raises(
        contract.DidNotHappen, match=r"api\.example isn't among the hosts that http\.request may"
    ):
        post(server, url="https://api.example/")
    settings.CKPTSITE_TOOLS = {"http": {"write": ["*"]}}
    for inside in ("http://169.254.169.254/latest", "http://127.0.0.1.nip.invalid/", "https://[::1]/"):
        with pytest.raises(contract.DidNotHappen):
            post(server, url=inside)
    settings.CKPTSITE_OUTGOING = []
    with pytest.raises(contract.DidNotHappen, match="begin with https"):
        post(server)
    assert server.taken == []
    server.stop()
    settings.CKPTSITE_OUTGOING = [ipaddress.ip_network("127.0.0.0/8")]
    with pytest.raises(contract.DidNotHappen, match="could not be reached") as caught:
        post(server)
    assert caught.value.retryable


@pytest.mark.parametrize(
    "changes",
    [
        {"url": "http://me:pw@example.com/"},
        {"url": "ftp://example.com/"},
        {"headers": {"Host": "other"}},
        {"headers": {"Idempotency-Key": "mine"}},
        {"headers": {"X-A": "a\r\nX-B: b"}},
        {"headers": {"X A": "a"}},
        {"content_type": "text/plain\r\nX: y"},
        {"method": "GET"},
        {"reference": " x"},
    ],
)
def test_what_is_no_request_is_refused_in_one_sentence(changes: dict[str, Any]) -> None:
    with pytest.raises(contract.BadArguments) as caught:
        http.Request.parse({"url": "https://example.com/", "reference": "R"} | changes)
    assert "\n" not in str(caught.value)


def test_a_read_keeps_what_is_long_or_no_text_as_a_file(world_get: str) -> None:
    tool, call = http.Read(), Call()
    short = tool.run(tool.parse({"url": f"{world_get}/text"}), call)
    assert short.value["body"] == "grün"
    assert short.value["file"] is None
    image = tool.run(tool.parse({"url": f"{world_get}/image"}), call)
    assert image.value["body"] is None
    assert call.files[image.value["file"]["sha256"]] == b"\x89PNG\0\0"
    long = tool.run(tool.parse({"url": f"{world_get}/long"}), call)
    assert (len(long.value["body"]), long.value["cut"]) == (http.SHOWN, True)
    assert len(call.files[long.value["file"]["sha256"]]) == 200_000
    gone = tool.run(tool.parse({"url": f"{world_get}/gone", "method": "HEAD"}), call)
    assert gone.summary.endswith(": 404.")
    with pytest.raises(wire.NoAnswer, match="503"):
        tool.run(tool.parse({"url": f"{world_get}/busy"}), call)


@pytest.fixture
def world_get(settings: Settings) -> Iterator[str]:
    answers = {
        "/text": says(200, "grün".encode("latin-1"), Content_Type="text/plain; charset=latin-1"),
        "/image": says(200, b"\x89PNG\0\0"),
        "/long": says(200, b"x" * 200_000),
        "/gone": says(404),
        "/busy": says(503),
    }
    receiver = Receiver(answer=lambda request: answers[request.path](request))
    receiver.start()
    settings.CKPTSITE_OUTGOING = [ipaddress.ip_network("127.0.0.0/8")]
    settings.CKPTSITE_TOOLS = {"http": {"read": ["*"]}}
    yield f"http://127.0.0.1:{receiver.port}"
    receiver.stop()


def test_the_file_of_tools_is_checked_and_nothing_is_on_by_itself(settings: Settings) -> None:
    assert {"http.read", "http.request", "http.request_once", "http.replace"} <= {
        one.kind.name for one in registry.off()
    }
    settings.CKPTSITE_TOOLS = {"http": {"read": ["https://example.com/"]}}
    with pytest.raises(Exception, match=r"CKPTSITE_TOOLS: http\.read\.0: .*must be a host"):
        configured.tools()
    assert configured.matches("a.example.org", ["*.example.org"])
    for host in ("example.org", "notexample.org", "a.example.org.evil.com", "a.example.org:8443"):
        assert not configured.matches(host, ["*.example.org"])


def test_the_preview_shows_the_whole_request(settings: Settings) -> None:
    settings.CKPTSITE_TOOLS = {"http": {"write": ["api.example.com"]}}
    tool = http.Request()
    args = tool.parse(
        {"url": "https://api.example.com/x", "headers": {"Authorization": "secret://shop"}, "body": "b",
         "reference": "Order  7"}
    )  # fmt: skip
    shown = tool.preview(args, Call())
    assert shown.body == "b"
    assert ("Header Authorization", "secret://shop") in shown.facts
    assert shown.warnings == ()
    other = tool.parse({"url": "http://10.0.0.1/x", "reference": "r"})
    assert len(tool.preview(other, Call()).warnings) == 2
    assert tool.identity_of(args) == {"url": "https://api.example.com/x", "reference": "order 7"}
