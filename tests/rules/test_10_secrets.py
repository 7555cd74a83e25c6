"""Secrets: people, log and digests know a name; the value is with the tool alone, and found nowhere afterwards."""

from __future__ import annotations

import base64
import io
import json
import logging
import re
from collections.abc import Iterator
from typing import Any, ClassVar
from urllib.parse import quote_plus

import pytest
import structlog
from django.conf import settings
from django.core.management import CommandError, call_command
from django.db import connection
from django.test import Client, override_settings
from django.urls import reverse

from runs import models, redaction, seed
from runs.engine import verifier
from runs.providers import declared
from runs.tools import contract, registry
from runs.transitions import edits, refusals, sealing, secrets, starts
from runs.transitions.actor import Actor
from tests import factories
from tests.engine.conftest import answer, go, only_review
from tests.pages.conftest import As
from tests.pages.conftest import as_ as as_
from tests.pages.conftest import who as who

pytestmark = pytest.mark.django_db(transaction=True)
CANARY = 'caña"ry+/key 0123456789 %7 tail'
PEM = "-----BEGIN KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASC\n-----END KEY-----"


class LeakyArguments(contract.Arguments):
    """How it fails, and with which key."""

    way: str
    key: str


class Leaky(contract.Tool):
    """Tells everybody what it was given."""

    name = "leaky.call"
    title = "Leaky"
    effect = contract.Effect.IRREVERSIBLE
    Arguments = LeakyArguments
    given: ClassVar[list[str]] = []

    def preview(self, args: Any, ctx: contract.Context) -> contract.Preview:
        return contract.Preview(summary=f"Calls with {args.key}")

    def run(self, args: Any, ctx: contract.Context) -> contract.Receipt:
        type(self).given.append(args.key)
        assert ctx.secret("canary") == args.key
        structlog.get_logger("leaky").warning(
            "called", key=args.key, more={"list": [args.key.encode().hex()]}
        )
        logging.getLogger("leaky").error("header %s", base64.b64encode(f"me:{args.key}".encode()).decode())
        if args.way == "raise":
            raise ConnectionError(f"refused {args.key!r} at https://x/?key={quote_plus(args.key)}")
        if args.way == "absent":
            raise contract.DidNotHappen(f"bad key {json.dumps(args.key)}")
        ref = ctx.attach("reply.txt", f"key: {args.key}".encode())
        value = {"raw": [args.key], args.key: 1, "json": json.dumps({"k": args.key}), "file": ref.model_dump(),
                 "basic": base64.b64encode(f"user:{args.key}".encode()).decode()}  # fmt: skip
        return contract.Receipt(summary=f"Called with {args.key}", value=value)


@pytest.fixture
def lines() -> Iterator[io.StringIO]:
    """What the logs say, as the product writes them."""
    registry.register(Leaky)
    given = dict(settings.LOGGING["formatters"]["lines"])
    handler = logging.StreamHandler(io.StringIO())
    handler.setFormatter(given.pop("()")(**given))
    logging.getLogger().addHandler(handler)
    Leaky.given = []
    yield handler.stream
    logging.getLogger().removeHandler(handler)
    redaction.forget()
    registry._tools.pop("leaky.call")


def call(who: factories.People, way: str, key: str = "secret://canary") -> models.Run:
    """A run whose one step calls the leaky tool; released where somebody is asked."""
    steps = [
        {"id": "call", "title": "Call", "tool": "leaky.call", "with": {"way": way, "key": key}},
        {"id": "end", "title": "End", "finish": {"summary": "Done."}},
    ]
    schema = {"type": "object", "properties": {}}
    agent = declared.Agent(name="leaky", title="Leaky", provider="playbook", definition={"steps": steps},
                           tools=("leaky.call",), input_schema=schema)  # fmt: skip
    seed.register(agent)
    token = f"leaky-{way}-{models.Run.objects.count()}"
    run = go(
        starts.start_run("leaky", input={}, title=f"Leaky {way}", by=Actor(user=who.operator), token=token)
    )
    if run.status == "waiting":
        answer(only_review(run), who.reviewer, "approve")
        run = go(run)
    return run


def written() -> set[str]:
    """How the tool has written it, worked out without the product: the middle of each, which only the value decides."""
    coded = [base64.b64encode(f"{who}:{CANARY}".encode()).decode()[12:-6] for who in ("user", "me")]
    return {
        CANARY,
        *coded,
        json.dumps(CANARY)[1:-1],
        quote_plus(CANARY),
        CANARY.encode().hex(),
        repr(CANARY)[1:-1],
    }


def dump() -> str:
    """Everything that the database holds."""
    found = []
    with connection.cursor() as cursor:
        for table in connection.introspection.table_names():
            cursor.execute(f"SELECT t::text FROM {connection.ops.quote_name(table)} t")
            found += [row[0] for row in cursor.fetchall()]
    return "\n".join(found)


def test_10_a_planted_secret_is_found_nowhere(who: factories.People, as_: As, lines: io.StringIO) -> None:
    """Echoed in value, receipt, error, file and log line: not in the database, the logs, the pages or the exports."""
    redaction.forget()
    by = Actor(user=who.admin)
    assert (
        "no secret named 'canary'"
        in models.Entry.objects.get(
            run=call(who, "echo"), kind="result", content__contains="no secret"
        ).content["text"]
    )
    secrets.set_secret("canary", CANARY, uses=[("other", "leaky.call"), ("leaky", "mail.send")], by=by)
    refused = call(who, "echo")
    assert "The agent leaky may not use secret://canary in leaky.call, argument key" in dump()
    assert (Leaky.given, refused.status) == ([], "failed")
    secrets.set_secret("canary", CANARY, uses=[("leaky", "leaky.call")], by=by)
    runs = [call(who, way) for way in ("echo", "absent", "raise")]
    assert Leaky.given == [CANARY] * 3
    action = models.Action.objects.get(run=runs[0])
    assert action.arguments() == {"way": "echo", "key": "secret://canary"}
    assert action.preview["summary"] == "Calls with secret://canary"
    held = dump()
    assert held.count("[secret://canary]") > 5
    pages = [
        reverse(name, args=[run.pk]) for run in runs for name in ("run", "run-transcript", "run-effects")
    ]
    pages += ["/secrets/", reverse("run-dossier", args=[runs[0].pk]), "/audit/", "/inbox/?tab=team"]
    pages += [reverse("review", args=[pk]) for pk in models.Review.objects.values_list("pk", flat=True)]
    client: Client = as_(who.admin)
    shown = "\n".join(client.get(page).content.decode() for page in pages)
    assert "secret://canary" in shown
    assert "Leaky (leaky.call)" in shown
    kept = next(blob for blob in models.Blob.objects.all() if bytes(blob.content).startswith(b"key: "))
    assert bytes(kept.content) == b"key: [secret://canary]"
    answer_ = client.get("/audit/?as=jsonl")
    export = b"".join(answer_.streaming_content).decode()  # type: ignore[attr-defined]
    assert "secret.set" in export
    logged = lines.getvalue()
    assert logged.count("[secret://canary]") > 5
    for where, text in {"database": held, "pages": shown, "log": logged, "export": export}.items():
        for form in redaction.forms(CANARY) | written():
            assert form not in text, (where, form)
    verifier.verify()


def test_10_where_values_come_from_and_keys_that_rotate(
    who: factories.People, lines: io.StringIO, tmp_path: Any, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    """Table, environment and file; encrypted for one name under a named key; a value is never an argument."""
    redaction.forget()
    given, path = (
        ["--use", "leaky", "leaky.call:key", "--use", "leaky", "leaky.call", "--by", who.admin.username],
        tmp_path / "key",
    )
    path.write_text(CANARY + "\n")
    for place in (["--file", str(path)], ["--mounted", str(path)], ["--environment", "THE_KEY"]):
        monkeypatch.setenv("THE_KEY", CANARY)
        call_command("secrets", "set", "canary", *place, *given)
        Leaky.given.clear()
        assert call(who, "echo").status == "succeeded"
        assert Leaky.given == [CANARY]
    assert models.Secret.objects.get(name="canary").used_at is not None
    _typed(who)
    monkeypatch.setenv("THE_KEY", "short")
    assert call(who, "echo").status == "failed"
    assert "secret://canary can't be read here. A secret's value has 8 to" in dump()
    monkeypatch.setattr("sys.stdin", io.StringIO(PEM + "\n"))
    call_command("secrets", "set", "canary", *given)
    row = models.Secret.objects.get(name="canary")
    old = (row.key_id, bytes(row.sealed or b""))
    assert (secrets.opened(row), PEM[:20].encode() in old[1]) == (PEM, False)
    with pytest.raises(sealing.NoKey, match="was altered"):
        sealing.key(row.key_id).open("another", old[1])
    with pytest.raises(sealing.NoKey, match="was altered"):
        sealing.key(row.key_id).open("canary", old[1][:-1] + b"\0")
    keys = [sealing._kept(), "k" * 40]
    with override_settings(CKPTSITE_SECRETS_KEYS=", ".join(reversed(keys))):
        call_command("secrets", "rotate", "--by", who.admin.username)
        row.refresh_from_db()
        assert row.key_id != old[0]
        assert secrets.opened(row) == PEM
    with override_settings(CKPTSITE_SECRETS_KEYS=keys[0]), pytest.raises(CommandError, match="is not among"):
        call_command("secrets", "rotate", "--by", who.admin.username)
    call_command("secrets", "list")
    for wrong in (["set", "Canary!", *given], ["remove", "canary", "--by", who.operator.username],
                  ["remove", "nothing", "--by", who.admin.username]):  # fmt: skip
        monkeypatch.setattr("sys.stdin", io.StringIO(PEM))
        with pytest.raises(CommandError):
            call_command("secrets", *wrong)
    call_command("secrets", "remove", "canary", "--by", who.admin.username)
    said = capsys.readouterr()
    assert "secret://canary  table, key" in said.out
    assert PEM[30:50] not in said.out + said.err + dump()
    acts = list(models.AuditEvent.objects.filter(act__startswith="secret").values_list("act", flat=True))
    assert acts.count("secret.set") == 4
    assert {"secret.removed", "secrets.rotated"} <= set(acts)
    redaction.know("key", PEM)
    assert redaction.clean("x MIIEvQIBADANBgkqhkiG9w0BAQEFAASC y") == "x [secret://key] y"
    verifier.verify()


def _typed(who: factories.People) -> None:
    """A secret that is typed into changed arguments is refused when it is typed, unless the agent may use it there."""
    steps = [
        {"id": "call", "title": "Call", "tool": "leaky.call", "with": {"way": "echo", "key": "plain words"}},
        {"id": "end", "title": "End", "finish": {"summary": "Done."}},
    ]
    schema = {"type": "object", "properties": {}}
    agent = declared.Agent(name="typed", title="Typed", provider="playbook", definition={"steps": steps},
                           tools=("leaky.call",), input_schema=schema)  # fmt: skip
    seed.register(agent)
    run = go(starts.start_run("typed", input={}, title="Typed", by=Actor(user=who.operator), token="typed"))
    review = only_review(run)
    assert review.action is not None
    for key, sentence in (
        ("secret://none", "There is no secret named 'none'."),
        ("secret://canary", "The agent typed may not use secret://canary in leaky.call, argument key"),
    ):
        given = edits.Edit(
            arguments=review.action.arguments() | {"key": key},
            reason="Another key.",
            revision=review.revision,
            digest=review.digest,
            token=f"typed-{key}",
        )
        with pytest.raises(refusals.Invalid, match=re.escape(sentence)):
            edits.edit(review.pk, given, by=Actor(user=who.reviewer))
