"""What a line of the log says, in words: title, detail, tone and icon, for timeline and transcript alike."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from runs import lifecycle
from runs.selectors import budget_notes, review_outcome, run_asked, run_labels, tools, words
from runs.selectors.run_asked import Said, about
from runs.selectors.run_labels import AGENT, ASK, BAD, BUSY, DOUBT, GOOD, PERSON, QUIET, SYSTEM, TOOL
from runs.selectors.run_log import Line, Names

LISTED = 5


def said(line: Line, names: Names, *, agent: str, starter: str) -> Said:
    """Return the line in words."""
    content = line.content
    match line.kind:
        case lifecycle.EntryKind.INPUT | lifecycle.EntryKind.CORRECTION:
            title = "Started the run" if line.kind == lifecycle.EntryKind.INPUT else "Corrected the input"
            return Said(title=title, icon="play", side=PERSON, who=starter, text=_input(content.get("input")))
        case lifecycle.EntryKind.REPLY:
            return _reply(line, names, agent)
        case lifecycle.EntryKind.CALL:
            if content.get("undo_of") is not None:
                return _asked(line, names)
            what = names.steps.get(str(content.get("step"))) or tools.title(str(content.get("tool")))
            if content.get("effect") == "control":
                return Said(title="Ends as soon as this is done", icon="circle-stop")
            return Said(title=f"Was open at the checkpoint, and is proposed again: {what}", icon="rotate-ccw")
        case lifecycle.EntryKind.VERDICT:
            return run_asked.verdict(line, names)
        case lifecycle.EntryKind.REVISION:
            return run_asked.revision(line, names)
        case lifecycle.EntryKind.DECISION:
            return _decision(line, names)
        case lifecycle.EntryKind.INTENT:
            return _intent(line, names)
        case lifecycle.EntryKind.RECEIPT:
            return _receipt(line, names)
        case lifecycle.EntryKind.RESULT:
            return _result(line, names)
        case lifecycle.EntryKind.PLAN:
            return _plan(line, names, agent)
        case lifecycle.EntryKind.MARK:
            step = names.steps.get(str(content.get("step")), str(content.get("step", "")))
            return Said(
                title=f"{run_labels.STEPS.get(str(content.get('state')), 'Step moved')}: {step}",
                icon="list-todo",
            )
        case lifecycle.EntryKind.NOTE | lifecycle.EntryKind.MESSAGE:
            return _note(content, names)
        case lifecycle.EntryKind.SUMMARY:
            title, text = "Summed up the run so far", str(content.get("text") or "")
            return Said(title=title, icon="bot", side=AGENT, who=agent, text=text)
        case lifecycle.EntryKind.END:
            title, icon, tone = run_labels.ENDS.get(
                str(content.get("status")), ("Ended", "circle-stop", QUIET)
            )
            if names.dry_run and content.get("status") == lifecycle.Run.SUCCEEDED:
                title, icon = words.TRIED_OUT.rstrip("."), "eye"
            text = content.get("summary") or content.get("cause") or content.get("reason") or ""
            return Said(title=title, icon=icon, tone=tone, text=str(text))
    return Said(title=line.kind.capitalize(), icon="info")


def _input(value: Any) -> str:
    if not isinstance(value, Mapping):
        return ""
    parts = []
    for name, item in value.items():
        text = item.get("path") if isinstance(item, Mapping) and "path" in item else tools.plain(item)
        parts.append(f"{tools.label(name)}: {tools.short(str(text), 300)}")
    return "\n".join(parts)


def _reply(line: Line, names: Names, agent: str) -> Said:
    calls = [call for call in line.content.get("calls", []) if isinstance(call, Mapping)]
    wanted = []
    for index, call in enumerate(calls):
        action = names.actions.get((line.position, index))
        step = names.steps.get(str(call.get("step")))
        tool = str(call.get("tool"))
        first = action is not None and action.revision == 1  # a later one has a preview of other arguments
        own = about(action, names) if first else run_labels.CONTROLS.get(tool) or tools.title(tool)
        wanted.append(step or own)
    text = str(line.content.get("text") or "")
    if not line.whole and not calls:
        title = "Asked for something too large to show here"
    elif not calls:
        title = "Wrote"
    elif len(calls) == 1:
        title = f"Wants: {tools.short(str(wanted[0]), 160)}"
    else:
        title = f"Wants {len(calls)} things at once"
        more = f"\nand {len(wanted) - LISTED} more" if len(wanted) > LISTED else ""
        listed = "\n".join(f"{number}. {what}" for number, what in enumerate(wanted[:LISTED], 1))
        text = f"{text}\n{listed}{more}".strip()
    return Said(title=title, icon="bot", side=AGENT, who=agent, text=text)


def _asked(line: Line, names: Names) -> Said:
    """Return what a person, or a plan that failed, wants taken back."""
    content = line.content
    action = names.action(line)
    what = about(action, names) if action else tools.title(str(content.get("tool")))
    who, why = names.person(str(content.get("by") or "ckptsite")), str(content.get("reason") or "")
    title = f"Asked for: {what}"
    if content.get("by") == "":  # nobody did: the plan says so for the case that it fails
        return Said(
            title=f"To be taken back, as the plan says: {what}", icon="undo-2", text=why, action=action
        )
    return Said(title=title, icon="undo-2", tone=ASK, side=PERSON, who=who, text=why, action=action)


def _decision(line: Line, names: Names) -> Said:
    content, action = line.content, names.action(line)
    what = about(action, names)
    review = content.get("review") if isinstance(content.get("review"), int) else None
    if content.get("verdict") == "ask_again":
        reason = str(content.get("reason") or "")
        return Said(
            title=f"Has to be asked again: {what}", icon="rotate-ccw", tone=ASK, text=reason, action=action
        )
    if content.get("verdict") == "blocked":
        title = f"Waits until it is known whether an equal one happened: {what}"
        return Said(title=title, icon="clock", action=action)
    if content.get("verdict") == "back_off":
        return Said(title=f"Waits before it tries again: {what}", icon="clock", action=action)
    if content.get("kind") == lifecycle.ReviewKind.QUESTION and review is not None:
        what = names.reviews[review].title if review in names.reviews else "a question"
    who = names.person(str(content.get("by") or "ckptsite"))
    if review is not None and review in names.together and content.get("answer") == "approve":
        who = " and ".join(names.person(one) for one in names.together[review])
    reason = str(content.get("reason") or "")
    if "plan" in content:
        title = f"Approved the plan, version {content['plan']}"
        return Said(
            title=title, icon="shield-check", tone=GOOD, side=PERSON, who=who, text=reason, review_id=review
        )
    answer = str(content.get("answer") or "")
    if content.get("status") == lifecycle.Action.EXPIRED:
        return Said(title=f"Nobody answered in time: {what}", icon="clock", action=action, review_id=review)
    if not answer:
        title = f"Took the approval back: {what}"
        return Said(
            title=title, icon="undo-2", tone=ASK, side=PERSON, who=who, action=action, review_id=review
        )
    tone = {"approve": GOOD, "reject": BAD}.get(answer, DOUBT)
    icon = {"approve": "shield-check", "reject": "circle-x"}.get(answer, "user")
    title = f"{review_outcome.verdict_words(answer).capitalize()}: {what}"
    return Said(
        title=title, icon=icon, tone=tone, side=PERSON, who=who, text=reason, action=action, review_id=review
    )


def _intent(line: Line, names: Names) -> Said:
    action = names.action(line)
    attempt = int(line.content.get("attempt") or 1)
    title = (
        f"Started: {about(action, names)}" if attempt == 1 else f"Attempt {attempt}: {about(action, names)}"
    )
    allowed = action is not None and line.content.get("review") is None
    text = f"Allowed by the rule “{action.rule}”." if action is not None and allowed else ""
    return Said(
        title=title, icon="zap", tone=BUSY, text=text, action=action, review_id=line.content.get("review")
    )


def _receipt(line: Line, names: Names) -> Said:
    content, action = line.content, names.action(line)
    what = about(action, names) if action else "a look-up"
    reason = str(content.get("reason") or "")
    source = {"person": "A person said", "lookup": "Looked up", "evidence": "Learnt later"}.get(
        str(content.get("source")), ""
    )
    match content.get("outcome"):
        case "happened":
            receipt = content.get("receipt") or {}
            title = f"{source + ': it' if source else 'It'} happened"
            return Said(
                title=title, icon="circle-check", text=str(receipt.get("summary") or ""), action=action
            )
        case "did_not_happen":
            title = f"{source + ': it' if source else 'It'} did not happen: {what}"
            return Said(title=title, icon="circle-x", tone=BAD, text=reason, action=action)
        case "failed":
            again = "it is tried again" if content.get("retry_at") else "it is not tried again"
            return Said(title=f"Failed, {again}: {what}", icon="circle-alert", text=reason)
    return Said(
        title=f"No answer came, so it may have happened: {what}",
        icon="circle-question-mark",
        tone=DOUBT,
        text=reason,
        action=action,
    )


def _result(line: Line, names: Names) -> Said:
    content, action = line.content, names.action(line)
    status = str(content.get("status") or "")
    text = str(content.get("text") or "")
    tone, icon = run_labels.RESULTS.get(status, (QUIET, "wrench"))
    if action is None:
        well: dict[str, str] = {lifecycle.Action.SUCCEEDED: "wrench", lifecycle.Action.SIMULATED: "eye"}
        tone, icon = (QUIET, well[status]) if status in well else (BAD, "circle-alert")
    step = names.steps.get(str(content.get("step") or ""))
    if action is None and not step:  # a control call: its words say it all
        return Said(
            title=text or "Result", icon="list-todo" if tone == QUIET else icon, tone=tone, side=SYSTEM
        )
    title = step or about(action, names)
    who = tools.title(action.tool) if action else "Tool"
    return Said(title=title, icon=icon, tone=tone, side=TOOL, who=who, text=text, action=action)


def _plan(line: Line, names: Names, agent: str) -> Said:
    content = line.content
    steps = content.get("steps")
    count = f"{len(steps)} steps" if isinstance(steps, list) else "many steps"
    titles = [str(step.get("title", "")) for step in steps or [] if isinstance(step, Mapping)]
    more = f"\nand {len(titles) - LISTED} more" if len(titles) > LISTED else ""
    title = f"Plan version {content.get('version', '')}: {count}".replace(" :", ":")
    by = str(content.get("author") or "")
    side, who = (PERSON, names.person(by)) if by else (AGENT, agent)
    return Said(title=title, icon="list-todo", side=side, who=who, text="\n".join(titles[:LISTED]) + more)


def _note(content: Mapping[str, Any], names: Names) -> Said:
    code = str(content.get("code") or "")
    title, icon, tone = budget_notes.words(content) or run_labels.NOTES.get(
        code, (code.replace("_", " ").capitalize() or "Note", "info", QUIET)
    )
    who = str(content.get("by") or "ckptsite")
    side = SYSTEM if who == "ckptsite" else PERSON
    who = names.person(who)
    text = str(content.get("reason") or content.get("text") or budget_notes.usage(content))
    if told := content.get("instructions"):
        text = f"{text}\nWith other instructions, as version {told['version']} of the agent.".strip()
    return Said(title=title, icon=icon, tone=tone, side=side, who=who, text=text)
