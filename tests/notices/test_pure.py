"""What needs no database: whom to tell when, signatures, and where no request may go."""

from __future__ import annotations

import base64
import datetime
import ipaddress
import socket
import ssl
import time
import uuid
from typing import Any
from unittest import mock

import pytest
from pytest_django import Settings

from runs import telling
from runs.net import guard, signing
from runs.notices import http, slack_requests
from runs.notices.failing import NotTaken
from tests import waiting
from tests.notices.outside import Receiver

UTC = datetime.UTC
BERLIN = telling.Wish(zone="Europe/Berlin", quiet_from=datetime.time(22), quiet_until=datetime.time(7))


def at(text: str) -> datetime.datetime:
    return datetime.datetime.fromisoformat(text).replace(tzinfo=UTC)


@pytest.mark.parametrize(
    ("moment", "told"),
    [
        ("2026-11-30 12:00", "2026-11-30 12:00"),
        ("2026-11-30 20:59", "2026-11-30 20:59"),  # 21:59 there
        ("2026-11-30 21:00", "2026-12-01 06:00"),
        ("2026-12-01 05:59", "2026-12-01 06:00"),
        ("2026-12-01 06:00", "2026-12-01 06:00"),
        ("2026-10-24 21:00", "2026-10-25 06:00"),  # the night in which the clocks go back
        ("2026-03-28 22:00", "2026-03-29 05:00"),  # and the one in which they go on
    ],
)
def test_quiet_hours_go_by_the_clock_of_the_persons_place(moment: str, told: str) -> None:
    assert telling.after_quiet(BERLIN, at(moment), default="UTC") == at(told)


def test_quiet_hours_by_day_never_and_at_tier_3() -> None:
    day = telling.Wish(quiet_from=datetime.time(9), quiet_until=datetime.time(17))
    assert telling.after_quiet(day, at("2026-11-30 12:00"), default="UTC") == at("2026-11-30 17:00")
    assert telling.after_quiet(telling.Wish(), at("2026-11-30 12:00"), default="UTC") == at(
        "2026-11-30 12:00"
    )
    night = at("2026-11-30 23:00")
    final = telling.when(BERLIN, telling.FINAL, telling.NOW, now=night, default="UTC")
    assert final == night  # what can't be undone may wake somebody
    other = telling.when(BERLIN, telling.EXTERNAL, telling.NOW, now=night, default="UTC")
    assert other == at("2026-12-01 06:00")


def test_what_is_gathered_goes_out_together() -> None:
    first, second = at("2026-11-30 08:00:01"), at("2026-11-30 11:59:29")
    moments = {telling.next_gathering(4, moment) for moment in (first, second)}
    assert moments == {at("2026-11-30 12:00")}
    assert telling.next_gathering(4, at("2026-11-30 11:59:31")) == at("2026-11-30 16:00")  # it would miss it
    assert telling.next_gathering(24, first) == at("2026-12-01 00:00")
    moment = moments.pop()
    assert telling.bundle(7, moment) == telling.bundle(7, moment) != telling.bundle(8, moment)


def test_a_choice_that_is_not_offered_is_no_choice() -> None:
    wish = telling.Wish(ways={telling.FINAL: {telling.EMAIL: "never", telling.PAGE: telling.OFF}})
    assert wish.way(telling.FINAL, telling.EMAIL) == telling.NOW
    assert wish.way(telling.FINAL, telling.PAGE) == telling.OFF
    assert telling.wanted({telling.FINAL: {telling.EMAIL: "never"}, "else": {}})[telling.FINAL] == {}
    assert [telling.row_of("action", tier) for tier in range(4)] == ["tier1", "tier1", "tier2", "tier3"]
    assert telling.row_of("in_doubt", 0) == telling.row_of("failure", 0) == telling.TROUBLE


def test_signatures_are_those_of_standard_webhooks() -> None:
    """The example of the specification's own libraries."""
    secret, body = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", b'{"test": 2432232314}'
    given: dict[str, Any] = {"event": "msg_p5jXN8AQM9LWM0D4loKWxJek", "body": body}
    wanted = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
    assert signing.signature(secret, timestamp=1614265330, **given) == wanted
    made = signing.secret(b"key", salt=uuid.UUID(int=1), generation=1)
    assert len(base64.b64decode(made.removeprefix("whsec_"))) == 32
    headers = signing.headers([made, secret], event=given["event"], timestamp=1614265330, body=body)
    assert headers["webhook-signature"].endswith(" " + wanted)
    for told, now, right in (
        ("1614265330", 1614265630, True),
        ("1614265330", 1614265631, False),
        ("x", 1614265330, False),
    ):
        found = signing.verified(
            secret, timestamp=told, signatures=headers["webhook-signature"], now=now, **given
        )
        assert found is right
    assert not signing.verified(secret, timestamp="1614265330", signatures="v1,AAAA", now=1614265330, **given)


def test_slacks_signature_is_that_of_its_documents() -> None:
    """The example of Slack's own documents."""
    body = (
        b"token=xyzz0WbapA4vBCDEFasx0q6G&team_id=T1DC2JH3J&team_domain=testteamnow&channel_id=G8PSS9T3V"
        b"&channel_name=foobar&user_id=U2CERLKJA&user_name=roadrunner&command=%2Fwebhook-collect&text="
        b"&response_url=https%3A%2F%2Fhooks.slack.com%2Fcommands%2FT1DC2JH3J%2F397700885554%2F96rGlfmibIGlgcZRskXaIFfN"
        b"&trigger_id=398738663015.47445629121.803a0bc887a14d10d2c447fce8b6703c"
    )
    given: dict[str, Any] = {
        "body": body,
        "timestamp": "1531420618",
        "signature": "v0=a2114d57b48eac39b9ad189dd8316235a7b4a8d21a10bd27519666489c69b503",
        "now": 1531420618.0,
    }
    secret = "8f742231b10e8888abcd99yyyzzz85a5"
    assert slack_requests.signed(secret, **given)
    for wrong in ({"body": body + b"x"}, {"now": 1531420919.0}, {"now": 1531420317.0}, {"timestamp": "now"},
                  {"signature": ""}, {"signature": "v0=é"}):  # fmt: skip
        assert not slack_requests.signed(secret, **{**given, **wrong})
    assert not slack_requests.signed("", **given)
    click = slack_requests.read(body)
    assert click is not None
    assert (click.act, click.team, click.channel, click.member) == (
        "command",
        "T1DC2JH3J",
        "G8PSS9T3V",
        "U2CERLKJA",
    )
    for junk in (
        b"",
        b"\xff",
        b"payload=[]",
        b"payload=%7B%7D",
        b"payload=null",
        b"payload=%7B%22type%22%3A7%7D",
    ):
        assert slack_requests.read(junk) is None


FORBIDDEN = (
    "127.0.0.1", "0.0.0.0",  # noqa: S104  nothing binds to it
    "10.1.2.3", "172.16.0.1", "192.168.1.1", "169.254.169.254", "100.64.0.1", "192.0.0.8",
    "198.18.0.1", "224.0.0.1", "240.0.0.1", "255.255.255.255", "::1", "::", "::ffff:127.0.0.1", "::ffff:8.8.8.8",
    "::127.0.0.1", "fe80::1", "fc00::1", "ff02::1", "64:ff9b::7f00:1", "2002:7f00:1::", "2001:0:7f00:1::",
    "2001:db8::1",
)  # fmt: skip


@pytest.mark.parametrize("address", FORBIDDEN)
def test_no_address_but_a_public_one_is_spoken_to(address: str) -> None:
    with pytest.raises(guard.Refused):
        guard.check(ipaddress.ip_address(address), tls=True, port=443)


@pytest.mark.parametrize(
    "url",
    [
        "http://example.com/", "ftp://example.com/", "file:///etc/passwd", "//example.com/", "https://", "https:///x",
        "https://me:pass@example.com/", "https://example.com/#part", "https://example.com:99999/", "https://[::1/",
        "https://exa\nmple.com/", "https://example.com/\u202e", "https://example.com\\@127.0.0.1/",
        "https://e/" + "x" * 500,
        "https://2130706433/", "https://0x7f.1/", "https://0177.0.0.1/", "https://127.1/", "https://[::ffff:127.0.0.1]/",
        "https://localhost/", "https://[fe80::1%25lo]/", "https://0/",
    ],
)  # fmt: skip
def test_no_form_of_an_address_leads_inside(url: str) -> None:
    with (
        mock.patch.object(socket, "create_connection") as connecting,
        pytest.raises((guard.Refused, LookupError)),
    ):
        guard.resolve(url)
    connecting.assert_not_called()


def test_a_name_is_looked_up_once_and_each_of_its_addresses_counts() -> None:
    def named(*addresses: str) -> Any:
        return [(0, 0, 0, "", (address, 443)) for address in addresses]

    with (
        mock.patch.object(socket, "getaddrinfo", side_effect=[named("8.8.8.8", "10.0.0.1")]),
        pytest.raises(guard.Refused),
    ):
        guard.resolve("https://half.example/")
    with (
        mock.patch.object(socket, "getaddrinfo", side_effect=[named("8.8.8.8")]),
        pytest.raises(guard.Refused),
    ):
        guard.resolve("https://port.example:25/")
    # Rebound right after the look-up: the request goes to the address that was looked at.
    with (
        mock.patch.object(socket, "getaddrinfo", side_effect=[named("8.8.8.8"), named("127.0.0.1")]),
        mock.patch.object(socket, "create_connection", return_value=mock.Mock()) as connecting,
        mock.patch.object(ssl.SSLContext, "wrap_socket", side_effect=OSError("far enough")) as wrapping,
        pytest.raises(NotTaken, match="far enough"),
    ):
        http.post("https://rebound.example:8443/x", headers={}, body=b"")
    assert connecting.call_args.args == (("8.8.8.8", 8443),)
    assert wrapping.call_args.kwargs["server_hostname"] == "rebound.example"


def test_one_post_and_nothing_else(receiver: Receiver, settings: Settings) -> None:
    def elsewhere(_request: object) -> Any:
        return 302, {"Location": "http://169.254.169.254/latest/meta-data/"}, b""

    receiver.answer = elsewhere
    answer = http.post(receiver.url("/a?b=c"), headers={"X-One": "1"}, body=b"{}")
    assert (answer.status, len(receiver.taken)) == (302, 1)
    assert receiver.taken[0].path == "/a?b=c"
    assert receiver.taken[0].headers["host"] == f"127.0.0.1:{receiver.port}"
    for status, away, final in (
        (302, False, False),
        (400, False, False),
        (410, False, True),
        (503, True, False),
    ):
        with pytest.raises(NotTaken) as refused:
            http.taken(http.Answer(status=status, body=b""), who="It")
        assert (refused.value.away, refused.value.final) == (away, final)
    receiver.answer = lambda _request: (200, {}, b"x" * 1_000_000)
    assert len(http.post(receiver.url(), headers={}, body=b"").body) == http.MOST

    def drips(_request: object) -> Any:
        waiting.until(lambda: time.monotonic() > began + 0.5)
        return 200, {}, b"late"

    receiver.answer, began = drips, time.monotonic()
    with mock.patch.object(http, "WHOLE", 0.1), pytest.raises(NotTaken, match="did not answer"):
        http.post(receiver.url(), headers={}, body=b"")
    assert time.monotonic() < began + 0.5
    settings.CKPTSITE_OUTGOING = [ipaddress.ip_network("10.0.0.0/8")]
    with pytest.raises(guard.Refused, match="own machine"):
        guard.check(ipaddress.ip_address("10.1.1.1"), tls=False, port=80)
    guard.check(ipaddress.ip_address("10.1.1.1"), tls=True, port=9443)
    with pytest.raises(NotTaken, match="https") as refused:
        http.post(receiver.url(), headers={}, body=b"")
    assert refused.value.final
