"""The policy's page and its editor: rules in words, changed in a form, tried on the past, put in force once."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.test import Client

from runs import models
from runs.selectors import policy_page
from runs.transitions import switches
from runs.transitions.actor import Actor
from tests import factories
from tests.engine.conftest import answer, go, only_review, step
from tests.forms.browser import sent
from tests.pages.conftest import As
from tests.pages.test_pages import queries, text

pytestmark = pytest.mark.django_db(transaction=True)
EDIT = "/policies/edit/"
Form = dict[str, Any]


def drawn(page: str) -> Form:
    """The editor's form as a browser would send it untouched, but for the buttons."""
    return dict(sent(page, form="policy"))


def press(client: Client, form: Form, act: str, **more: Any) -> tuple[int, str]:
    """Press one of its buttons: the status, and the page with its lines on one."""
    client.handler.enforce_csrf_checks = False
    response = client.post(EDIT, form | {"act": act} | more)
    return response.status_code, " ".join(response.content.decode().split())


def put(who: factories.People, *rules: dict[str, Any]) -> None:
    document = {"version": 1, "rules": [{"name": f"r{n}", **rule} for n, rule in enumerate(rules)]}
    switches.set_policy(document, reason="for the test", by=Actor(user=who.admin))


def test_the_rules_are_told_in_words_with_what_came_of_them(who: factories.People, as_: As) -> None:
    put(
        who,
        {"match": {"tool": "world.costly", "when": "args.note != '<b>'"}, "verdict": "review", "quorum": 2,
         "groups": ["reviewer", "admin"], "escalate": [{"after_seconds": 7_200, "groups": ["admin"]}],
         "on_expiry": "stay"},
        {"match": {"tool": "world.l*"}, "verdict": "review"},
        {"verdict": "deny"},
    )  # fmt: skip
    for number in range(3):
        answer(factories.held(who.operator, name=f"n{number}"), who.reviewer, "approve")
    answer(factories.held(who.operator, name="bad"), who.reviewer, "reject")
    page = " ".join(text(as_(who.viewer), "/policies/").split())
    for words in (
        "the tool is world.costly",
        "args.note != &#x27;&lt;b&gt;&#x27;",
        "two people decide, each of reviewer or admin",
        "after 2 hours also put before admin",
        "open until somebody answers",
        "the tool is one that begins with world.l",
        "4 asked in 30 days: 3 approved as they were, 0 after a change, 1 rejected.",
        "Everything else: <b>is refused</b>",
        "Version 2, by admin-1",
        "What version 2 changed in version 1",
    ):
        assert words in page, words
    assert EDIT not in page
    old = text(as_(who.admin), "/policies/?version=1")
    assert "This version is no longer in force" in old
    assert EDIT not in old
    assert text(as_(who.admin), "/policies/?version=99999999999999999999").count("Version 2, by")
    assert queries(as_(who.viewer), "/policies/") <= 12


def test_a_rule_that_stops_nothing_is_pointed_out_and_left_alone(who: factories.People, as_: As) -> None:
    review = factories.held(who.operator)
    answer(review, who.reviewer, "approve")
    row = models.Review.objects.get(pk=review.pk)
    copies = []
    for _ in range(20):
        copy = models.Review.objects.get(pk=row.pk)
        copy.pk = None
        copies.append(copy)
    models.Review.objects.bulk_create(copies)
    page = " ".join(text(as_(who.admin), "/policies/").split())
    assert "It stopped none of 21. With 95 % certainty at most 14.3 in 100 would be stopped" in page


def test_rules_are_written_in_a_form_and_put_in_force(who: factories.People, as_: As) -> None:
    client = as_(who.admin)
    form = drawn(text(client, EDIT))
    status, page = press(client, form, "new")
    assert (status, "Not finished" in page) == (200, True)
    form = drawn(page)
    assert press(client, form, "save", reason="x")[0] == 422  # it has no name yet
    form |= {"rule-name": "No letters to <b>strangers</b>", "rule-tool": "world.look*", "rule-due": "soon"}
    form["rule-when"] = "args.name.contains("
    status, page = press(client, form, "live")
    assert (status, "Write a length of time, such as 90 minutes" in page) == (422, True)
    form |= {"rule-due": "4 hours", "rule-after-0": "90 min", "rule-also-0": "admin, board"}
    status, page = press(client, form, "live")
    assert (status, "match.when can&#x27;t be read" in page) == (422, True)
    form["rule-when"] = "args.name.contains('x')"
    status, page = press(client, form, "close")
    assert status == 200
    assert "No letters to &lt;b&gt;strangers&lt;/b&gt;" in page
    assert "args.name.contains(&#x27;x&#x27;)" in page
    form = drawn(page)
    rules = json.loads(form["document"][0])["rules"]
    assert rules[-1] == {
        "name": "No letters to <b>strangers</b>",
        "verdict": "review",
        "match": {"tool": "world.look*", "when": "args.name.contains('x')"},
        "due_seconds": 14_400,
        "escalate": [{"after_seconds": 5_400, "groups": ["admin", "board"]}],
    }
    again = drawn(press(client, form, f"open:{len(rules)}")[1])
    assert json.loads(drawn(press(client, again, "close")[1])["document"][0])["rules"] == rules
    for number in range(len(rules), 1, -1):
        form = drawn(press(client, form, f"earlier:{number}")[1])
    assert json.loads(form["document"][0])["rules"][0] == rules[-1]
    status, page = press(client, form, "save")
    assert (status, "Say why the policy changes" in page) == (422, True)
    status, _ = press(client, form, "save", reason="an incident")
    assert status == 303
    current = models.Installation.objects.select_related("policy_version").get(pk=1).policy_version
    assert current is not None
    assert (current.rules["rules"][0]["name"], current.reason) == (rules[-1]["name"], "an incident")
    assert models.AuditEvent.objects.filter(act="policy.changed", actor=who.admin).count() == 1

    status, page = press(client, form, "save", reason="once more")  # the form of the version before
    assert (status, "put version 2 in force meanwhile: an incident" in page) == (409, True)
    status, page = press(client, drawn(page), "save", reason="once more")
    assert (status, "Nothing is changed" in page) == (422, True)


@pytest.mark.parametrize(
    ("typed", "words"),
    [
        ("{", "line 1"),
        ('{"version": 1, "rules": [], "rules": []}', "twice"),
        ('{"version": 1}', "A policy is an object"),
        ('{"version": 1, "rules": ["x"]}', "Rule 1 must be an object"),
        ('{"version": 1, "rules": [{"name": "<i>", "verdict": "approve"}]}', "allow, review or deny"),
        ('{"version": 2, "rules": []}', "version 1 is understood"),
        ("9" * 5_000, "too many digits"),
        ("[" * 5_000, "deep"),
    ],
)
def test_what_is_no_policy_is_refused_where_it_was_typed(
    typed: str, words: str, who: factories.People, as_: As
) -> None:
    client = as_(who.admin)
    status, page = press(client, {"tab": "json", "document": typed, "base": "1", "reason": "r"}, "save")
    assert status == 422
    assert words in page
    assert models.PolicyVersion.objects.count() == 1
    for act in ("open:99", "drop:0", "earlier:1", "later:x", "tab:nowhere", "close", "new", "add:zzz", "try"):
        assert press(client, {"tab": "json", "document": typed, "base": "x"}, act)[0] in {200, 422}
    for odd in ({}, {"document": '{"version":1,"rules":[]}', "open": "7"}, {"open": "-1", "days": "9" * 30}):
        assert press(client, odd, "try")[0] in {200, 422}


def test_a_draft_is_tried_on_the_past(who: factories.People, as_: As) -> None:
    """Both policies are asked anew about what was proposed; what people said of it then stands beside it."""
    review = factories.held(who.operator, name="ann")
    answer(review, who.reviewer, "reject")
    go(review.run)
    for name in ("ann", "bob", "bob"):
        run = go(factories.start(who.operator, step("lookup", name)))
        answer(only_review(run), who.reviewer, "approve")
        go(run)
    assert models.Action.objects.count() == 4
    draft = [
        {"name": "known", "match": {"seen_elsewhere": 7}, "verdict": "deny"},
        {"name": "ann", "match": {"first_time": True, "when": "args.name == 'ann'"}, "verdict": "allow"},
        {"name": "poor", "match": {"when": "budget.calls.left < 1"}, "verdict": "allow"},
    ]
    form = {"tab": "json", "document": json.dumps({"version": 1, "rules": draft}), "base": "1", "days": "7"}
    status, page = press(as_(who.admin), form, "try")
    assert status == 200
    assert (
        "Of 4 actions it would put 1 before people instead of 4, let 2 through instead of 0, and refuse 1 instead of 0."
        in page
    )
    assert "<h3>2 would now pass</h3>" in page
    assert "people rejected it" in page
    assert "<h3>1 would now be refused</h3>" in page
    for name in ("known", "poor"):
        assert f'{name}</th> <td data-label="Decides">1 of 4' in page
    assert "what the run had used by then isn" in page
    assert models.PolicyVersion.objects.count() == 1
    two = [{"name": "two", "verdict": "review", "quorum": 2}, {"name": "late", "verdict": "deny"}]
    form["document"] = json.dumps({"version": 1, "rules": two})
    page = press(as_(who.admin), form, "try")[1]
    assert "<h3>4 would be asked about on other terms</h3>" in page
    assert "two people instead of one person" in page
    assert "None of these comes to this rule" in page


def test_what_is_written_otherwise_and_means_the_same_is_no_change() -> None:
    """A rule that names what holds without it, and one that doesn't, differ in nothing; only the quorum is new."""
    old = {
        "name": "r",
        "verdict": "review",
        "groups": ["reviewer"],
        "quorum": 1,
        "on_expiry": "deny",
        "match": {},
    }
    new = {"name": "r", "verdict": "review", "quorum": 2}
    found = policy_page.changed({"rules": [old]}, {"rules": [new]})
    assert [(change.path, change.before, change.after) for change in found] == [(("“r”", "quorum"), None, 2)]
