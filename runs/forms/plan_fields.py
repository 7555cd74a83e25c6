"""The fields of one plan step: read from a form into its definition; what isn't a field stays as it is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from runs import exact, plan_changes
from runs.providers import playbook_format
from runs.selectors import plan_draft

Step = Mapping[str, Any]
PREFIX = "s-"


def typed(post: Mapping[str, str]) -> dict[str, str]:
    """Return the step's fields as they were typed, by name without the prefix."""
    return {name.removeprefix(PREFIX): value for name, value in post.items() if name.startswith(PREFIX)}


def apply(step: Step, given: Mapping[str, str]) -> tuple[Step, dict[str, str]]:
    """Return the step with what was typed, and one sentence for each field that can't stay so."""
    errors: dict[str, str] = {}
    title = given.get("title", "").strip()
    if not title:
        errors[f"{PREFIX}title"] = "Give the step a title."
    elif len(title) > 300:
        errors[f"{PREFIX}title"] = "The title is too long: at most 300 characters."
    body = dict(step["body"])
    for name in plan_changes.TEXTS:
        if name in given:
            _put(body, name, _kept(str(body.get(name) or ""), given[name].strip()))
    if "with" in given:
        _arguments(body, given, errors)
    if "retry-times" in given:
        _retry(body, given, errors)
    if "question" in given:
        _question(body, given, errors)
    if "summary" in given:
        _ending(body, given, errors)
    # A box that isn't ticked is not sent at all.
    if "required" in given or "required-shown" in given:
        if "required" not in given:
            body["required"] = False
        elif not body.get("required", True):
            body.pop("required")
    for name in (*plan_changes.GUARDS, "compensate"):
        if f"{name}-shown" in given and bool(body.get(name)) != (name in given):
            _put(body, name, name in given)
    return {**step, "title": _kept(step["title"], title), "body": body}, errors


def _kept(old: str, text: str) -> str:
    """Return what was typed, or the old text where only the form's own line ends and spaces differ."""
    plain = text.replace("\r\n", "\n").strip()
    one_line = old.replace("\n", "").strip()  # what a browser makes of it in a field of one line
    return old if plain in {old.strip(), one_line} else plain


def _put(body: dict[str, Any], name: str, value: Any) -> None:
    body.pop(name, None)
    if value:
        body[name] = value


def _arguments(body: dict[str, Any], given: Mapping[str, str], errors: dict[str, str]) -> None:
    """Take the arguments: those with a field of their own, a text or JSON as they were, and what else is written."""
    before = body.get("with")
    found: dict[str, Any] = {}
    for field, text in given.items():
        if not field.startswith("with."):
            continue
        name = field.removeprefix("with.")
        old = before.get(name) if isinstance(before, Mapping) else None
        try:
            as_text = isinstance(old, str) and plan_draft.plain(old)
            found[name] = text.replace("\r\n", "\n") if as_text else exact.parse(text)
        except exact.NotExact as error:
            errors[f"{PREFIX}{field}"] = str(error)
    further = given["with"].strip()
    if further:
        try:
            value = exact.parse(further)
        except exact.NotExact as error:
            errors[f"{PREFIX}with"] = str(error)
            return
        if not isinstance(value, Mapping):
            errors[f"{PREFIX}with"] = 'The arguments are an object: {"name": value}.'
            return
        found |= value
    _put(body, "with", found)
    if before == {} and not found:
        body["with"] = {}


def _retry(body: dict[str, Any], given: Mapping[str, str], errors: dict[str, str]) -> None:
    """Take how often it is tried again; nothing typed is as the tool itself says."""
    times, wait = given["retry-times"].strip(), given.get("retry-wait", "").strip()
    if not times:
        body.pop("retry", None)
        if wait:
            errors[f"{PREFIX}retry-times"] = "Say how often it is tried again, or leave both empty."
        return
    known = plan_changes.part(body, "retry")
    if (times, wait) == (str(known.get("times") or ""), str(known.get("wait") or "")):
        return  # as it stood, to the letter
    try:
        wanted = {"times": int(times), **({"wait": exact.parse(wait)} if wait else {})}
    except (ValueError, exact.NotExact):
        wanted = {}
    if playbook_format.retry({"retry": wanted}) is None:
        errors[f"{PREFIX}retry-times"] = (
            f"Write a whole number from 1 to {playbook_format.MOST_RETRIES}, and seconds up to"
            f" {playbook_format.LONGEST_WAIT:,}."
        )
        return
    body["retry"] = wanted


def _question(body: dict[str, Any], given: Mapping[str, str], errors: dict[str, str]) -> None:
    before = str(plan_changes.part(body, "ask").get("question") or "")
    asked: dict[str, Any] = {**plan_changes.part(body, "ask"), "question": _kept(before, given["question"])}
    asked.pop("schema", None)
    if "to" in given:
        _put(asked, "to", given["to"].strip())
    if not given["question"].strip():
        errors[f"{PREFIX}question"] = "Write what the person is asked."
    if given.get("schema", "").strip():
        try:
            asked["schema"] = exact.parse(given["schema"])
        except exact.NotExact as error:
            errors[f"{PREFIX}schema"] = str(error)
    body["ask"] = asked


def _ending(body: dict[str, Any], given: Mapping[str, str], errors: dict[str, str]) -> None:
    ending: dict[str, Any] = {"summary": given["summary"]}
    if not given["summary"].strip():
        errors[f"{PREFIX}summary"] = "Say how the run ends, in a sentence."
    if given.get("result", "").strip():
        try:
            ending["result"] = exact.parse(given["result"])
        except exact.NotExact as error:
            errors[f"{PREFIX}result"] = str(error)
    body["finish"] = ending
