"""Agents in the browser and at the shell: made, changed, tried out, put in use; each version stays."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from django.core import management
from django.test import Client
from django.urls import reverse

from runs import agent_files, models
from runs.engine import advance, verifier
from runs.transitions import agents, refusals, starts
from runs.transitions.actor import Actor
from tests import factories
from tests.pages.plain import Visitor

pytestmark = pytest.mark.django_db(transaction=True)
TEXT = agent_files.BEGIN


@pytest.fixture
def who() -> factories.People:
    """One person of each role."""
    return factories.people()


def client(user: models.User) -> Client:
    made = Client()
    made.force_login(user)
    return made


def saved(user: models.User, text: str, *, base: int, use: bool = True) -> models.AgentVersion:
    return agents.save(agent_files.read(text), base=base, reason="Because.", use=use, by=Actor(user=user))


def test_from_a_new_agent_to_a_version_that_was_tried_out_first(who: factories.People) -> None:
    admin, edit = client(who.admin), reverse("agent-edit", args=["letters"])
    assert (
        "small letters"
        in admin.post(
            reverse("agent-new"),
            {"text": TEXT.replace("name: letters", "name: A b"), "act": "save", "reason": "x"},
        ).content.decode()
    )
    unsaid = admin.post(reverse("agent-new"), {"text": TEXT, "act": "save", "base": "0", "reason": " "})
    assert (unsaid.status_code, "Say why" in unsaid.content.decode()) == (422, True)
    assert TEXT.splitlines()[1].replace("'", "&#x27;") in unsaid.content.decode()  # nothing is lost
    made = admin.post(reverse("agent-new"), {"text": TEXT, "act": "save", "base": "0", "reason": "New."})
    assert made["Location"] == reverse("agent", args=["letters"]) + "?version=1"

    longer = TEXT.replace("Nothing to do for", "Nothing at all to do for")
    live = admin.post(edit, {"text": longer, "act": "live", "base": "1"}, headers={"HX-Request": "true"})
    assert "Nothing <ins>at all </ins>to do" in live.content.decode() or "at all" in live.content.decode()
    admin.post(edit, {"text": longer, "act": "try", "base": "1", "reason": "Say it better."})
    row = models.Agent.objects.get(name="letters")
    assert row.current is not None
    assert (row.current.number, row.versions.count()) == (1, 2)
    stale = admin.post(edit, {"text": TEXT, "act": "save", "base": "1", "reason": "Late."})
    assert (stale.status_code, "meanwhile" in stale.content.decode()) == (409, True)

    # It is tried out as a dry run before it is put in use, by whoever may start runs.
    operator = client(who.operator)
    place = reverse("agent-try", args=["letters", 2])
    assert "Customer" in operator.get(place).content.decode()
    assert operator.post(place, {}).status_code == 422
    tried = operator.post(place, {"letters.customer": "Ann"})
    run = models.Run.objects.get()
    assert tried["Location"] == reverse("run-dry", args=[run.pk])
    assert (run.mode, run.agent_version.number) == ("dry_run", 2)
    advance.advance(run.pk)
    run.refresh_from_db()
    last = models.Entry.objects.filter(run=run).order_by("-position")[0]
    assert "Nothing at all to do for Ann" in str(last.content)
    with pytest.raises(refusals.Invalid, match="only be tried out"):
        starts.start_run("letters", input={"customer": "A"}, title="", by=Actor(user=who.operator), token="t",
                         version=2)  # fmt: skip

    page = operator.get(reverse("agent", args=["letters"]) + "?version=2").content.decode()
    assert "What version 2 changed in version 1" in page
    assert "Put it in use" not in page
    used = admin.post(reverse("agent-use", args=["letters"]), {"version": "2", "reason": "Tried out."})
    assert used.status_code in {302, 303}
    row.refresh_from_db()
    assert row.current.number == 2
    assert operator.post(reverse("agent-use", args=["letters"]), {"version": "1"}).status_code == 403
    assert operator.get(edit).status_code == 403
    assert "Customers" in operator.get(reverse("agents")).content.decode()
    verifier.verify()


def test_a_version_is_tried_on_recorded_runs_and_compared_with_them(who: factories.People) -> None:
    saved(who.admin, TEXT, base=0)
    by = Actor(user=who.operator)
    was = starts.start_run("letters", input={"customer": "Ann"}, title="Ann's", by=by, token="one")
    advance.advance(was.pk)
    saved(who.admin, TEXT.replace("Nothing to do for", "Nothing at all for"), base=1, use=False)
    operator, place = client(who.operator), reverse("agent-try-on", args=["letters", 2])
    for _ in range(2):  # the same form twice starts them once
        assert operator.post(place, {"token": "form"}).status_code in {302, 303}
    tried = models.Run.objects.exclude(pk=was.pk).get()
    assert (tried.mode, tried.agent_version.number, tried.input) == ("dry_run", 2, {"customer": "Ann"})
    advance.advance(tried.pk)
    page = operator.get(reverse("agent", args=["letters"]) + "?version=2").content.decode()
    assert f"Compare with run {was.pk}" in page
    compared = operator.get(f"{reverse('compare')}?a={was.pk}&b={tried.pk}")
    assert compared.status_code == 200
    assert "nothing in common" not in compared.content.decode()
    other = factories.failed(who.operator)
    starts.start_run("letters", input={"customer": "B"}, title="B", by=by, token="two", mode="dry_run", version=2,
                     labels={"like-run": str(other.pk)})  # fmt: skip
    page = operator.get(reverse("agent", args=["letters"]) + "?version=2").content.decode()
    assert f"Compare with run {other.pk}" not in page  # a label is a claim; another agent's run isn't named
    assert operator.get(f"{reverse('compare')}?a={was.pk}&b={other.pk}").status_code == 404
    verifier.verify()


def test_what_an_app_declares_is_changed_there(who: factories.People) -> None:
    row = models.Agent.objects.get(name="receivables")
    page = client(who.admin).get(reverse("agent", args=["receivables"])).content.decode()
    assert "An installed app declares it" in page
    assert row.current is not None
    text = agent_files.write(row.current.declared())
    with pytest.raises(refusals.Invalid, match="declared by an installed app"):
        saved(who.admin, text.replace("title: Accounts", "title: Other"), base=row.current.number)


def test_files_are_checked_applied_and_exported_and_a_bad_one_keeps_all_out(
    who: factories.People, tmp_path: Path
) -> None:
    def say(*words: str) -> str:
        said = io.StringIO()
        management.call_command("agents", *words, stdout=said, stderr=said)
        return said.getvalue()

    good, bad = tmp_path / "good.yaml", tmp_path / "bad.yaml"
    good.write_text(TEXT)
    bad.write_text(TEXT.replace("tools: []", "tools: [nothing.here]"))
    by = ("--by", who.admin.username, "--reason", "Reviewed.")
    with pytest.raises(management.CommandError, match="1 of 2 files can't be used; nothing was kept"):
        say("apply", str(good), str(bad), *by)
    assert not models.Agent.objects.filter(name="letters").exists()
    assert say("apply", str(good), *by) == "letters: version 1 is in use.\n"
    assert say("apply", str(good), *by) == "letters: version 1 is this one already.\n"
    assert agent_files.read(say("export", "letters")) == agent_files.read(TEXT)
    good.write_text(TEXT.replace("tools: []", "tools: [email.send]"))
    with pytest.raises(management.CommandError, match="may not change agents"):
        say("apply", str(good), "--by", who.operator.username, "--reason", "x")


def test_who_has_never_seen_yaml_makes_an_agent_that_a_model_drives(who: factories.People) -> None:
    """By the form's labels alone, without scripts: two tools, a budget, a field; tried out, changed, put in use."""
    ada = Visitor(who.admin).go(reverse("agents")).follow("New agent")
    ada.send("Keep it and try it out", status=422)
    assert "Fill in the title." in ada.words
    assert (
        "Hand over to Accounts receivable Tier 1 Can be undone It changes something that can be put back."
        in ada.words
    )
    assert "can look up whether it happened. People decide before it. email.send" in ada.words
    ada.send("Add a field to the input", {"Title": "Reminders", "A model": True, "Read a CSV file": True})
    ada.send("Add a field to the result", {"Label": "Customer", "Needed": True, "Turns: One run": "a few"})
    assert "Please check this" not in ada.words  # that is for who wants to keep it
    given = {"Whose model": "Anthropic", "Model": "claude-small", "Send an e-mail": True, "Why": "New."}
    ada.send("Keep it and try it out", given, status=422)
    assert "The limit of turns is a whole number, without commas." in ada.words
    ada.send("YAML").send("Form", {"The agent, as YAML": _typed(ada, "# Ours.\n")})
    limits = {"Turns: One run": "12", "Dollars: One run": "2.50", "Dollars: All its runs in a day": "20"}
    more = {"Calls of one tool: One run": "email.send = 3", "Instructions": "Remind them."}
    ada.send("Keep it and try it out", limits | more)
    assert ada.place == reverse("agent-try", args=["reminders", 1])
    row = models.Agent.objects.get(name="reminders")
    assert row.current is not None
    assert agent_files.contents(row.current.declared()) == {
        "name": "reminders", "title": "Reminders", "provider": "llm", "model": "anthropic:claude-small",
        "instructions": "Remind them.", "tools": ["files.read_csv", "email.send"],
        "budget": {"steps": 12, "calls": 100, "cost_micro": 2_500_000, "calls:email.send": 3},
        "per_day": {"cost_micro": 20_000_000},
        "input": {"type": "object", "additionalProperties": False, "required": ["customer"],
                  "properties": {"customer": {"type": "string", "title": "Customer"}}},
        "definition": {},
    }  # fmt: skip
    ada.send("Start", {"Customer": "Ann"})
    assert models.Run.objects.get().mode == "dry_run"
    ada.go(reverse("agent-edit", args=["reminders"])).send(
        "Keep it and put it in use", {"Its plan first": True, "Why": "Safer."}
    )
    row = models.Agent.objects.get(name="reminders")
    assert row.current is not None
    assert (row.current.number, row.current.declared().approve_plan) == (2, True)
    verifier.verify()


def _typed(visitor: Visitor, before: str) -> str:
    """Return the YAML on the page with something typed above it."""
    area = next(part for part in visitor.page.all("textarea") if part.get("name") == "text")
    return before + "".join(str(part) for part in area.parts).removeprefix("\n")


def test_a_page_that_nobody_touches_sends_back_what_it_shows(who: factories.People) -> None:
    odd = agent_files.document(TEXT) | {
        "title": "  <b>“Odd”</b> &amp; \t'x' \u2028\u200b",
        "instructions": "\n\n  Begins late, ends &lt;later&gt;.\n \r\n\t\n\n",
        "provider": "llm",
        "model": "openai: a:b",
        "input": {"type": "object", "required": ["b", "gone"], "properties": {
            "b": {"type": "string", "title": " x ", "description": "\n\"two\"\nlines\n"}, "a b.c": {"enum": ["1"]}}},
        "definition": {"temperature": 0.1, "facts": ["a\u00a0", "b"], "output_schema": {"type": "object", "x": 1}},
    }  # fmt: skip
    saved(who.admin, agent_files.rewritten("", odd), base=0)
    ada = Visitor(who.admin).go(reverse("agent-edit", args=["letters"]))
    assert "Only the YAML says: enum." in ada.words
    row = models.Agent.objects.get(name="letters").versions.get()
    ada.send("YAML")
    assert _typed(ada, "") == agent_files.write(row.declared())
    ada.send("Form").send("Keep it and put it in use", {"Why": "x"}, status=422)
    assert "Nothing is changed." in ada.words
