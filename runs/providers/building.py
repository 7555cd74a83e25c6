"""From the lines of a run's log to what its model is sent: pure. The same lines always give the same prompt.

A turn is a reply and everything up to the next one: the reply as the model gave it, then what came of its calls in
call order, then what people and the engine had to say. Near the model's window the oldest turns are summarised by a
call of their own; the summary stands for them from then on, with what people said kept word for word.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from runs import lifecycle, state
from runs.providers import contract, controls, instructed, prompts

HEAD = 6_000
"""So many characters of a result are sent; the model reads on from there with `read_more`."""

LEAST_HEAD, LONGEST_WORDS = 80, 1_500
NEAR, DOWN_TO, SUMMARY = 0.75, 0.4, 0.1
"""Parts of the window: what may be used before turns are summarised, what is left then, and a summary's own size."""

LEAST_GAIN = 0.1
"""Less of the window than that isn't worth a call of its own."""

PINNED, PINNED_SIZE = 40, 8_000
"""Of what people said in summarised turns so many pieces and characters are kept word for word."""

READ_KINDS = (
    lifecycle.EntryKind.REPLY,
    lifecycle.EntryKind.CALL,
    lifecycle.EntryKind.RESULT,
    lifecycle.EntryKind.PLAN,
    lifecycle.EntryKind.NOTE,
    lifecycle.EntryKind.MESSAGE,
    lifecycle.EntryKind.CORRECTION,
    lifecycle.EntryKind.SUMMARY,
)
"""The kinds of lines that a prompt is made of."""

_SAID_BY_PEOPLE = frozenset({lifecycle.Action.REJECTED, lifecycle.Action.ABANDONED})


@dataclass(frozen=True, kw_only=True)
class Known:
    """What a prompt is made of. `lines` are those after the newest summary, oldest first."""

    agent: contract.AgentSpec
    input: Mapping[str, Any]
    lines: Sequence[state.Line]
    summary: Mapping[str, Any] | None = None
    steps: Sequence[state.PlanStep] = ()
    plan_version: int = 0
    tools: Sequence[prompts.Tool] = ()
    window: int
    output: int


@dataclass(kw_only=True)
class Turn:
    """One reply of the model, None at the very beginning, and what followed it."""

    reply: state.Line | None
    results: dict[int, state.Line] = field(default_factory=dict)
    said: list[str] = field(default_factory=list)
    people: list[str] = field(default_factory=list)
    last: int = 0


def prompt(known: Known) -> prompts.Prompt:
    """Return what the model is sent next: for its next reply, or for a summary of the oldest turns."""
    names = controls.safe_names([*known.agent.tools, controls.READ_MORE])
    turns = list(_turns(known.lines))
    tools = tuple(controls.with_step(tool) for tool in known.tools) + controls.tools(_schema(known.agent))
    room = known.window - known.output
    limit = room // 3  # in characters, for all results of a turn: a third of the window if each is a token
    sent = [_messages(turn, names, limit) for turn in turns]
    begin, end = instructed.beginning(known, names), instructed.ending(known, names)
    whole = prompts.Prompt(
        system=instructed.system(known.agent),
        messages=_joined([begin, *(one for part in sent for one in part), end]),
        tools=tools,
        output=known.output,
        planned=known.plan_version > 0,
    )
    if whole.tokens <= NEAR * room or len(turns) < 2:
        return whole
    fixed = whole.tokens - sum(map(prompts.tokens_of, sent))
    return _summary(known, turns, sent, fixed=fixed, room=room) or whole


def pinned(known: Known, upto: int) -> tuple[str, ...]:
    """Return what people said in the turns up to there, word for word, with what was kept of earlier ones."""
    before = [] if known.summary is None else list(known.summary["pinned"])
    said = [text for turn in _turns(known.lines) if turn.last <= upto for text in turn.people]
    found: list[str] = []
    size = 0
    for text in reversed([*before, *said]):
        size += len(text)
        if len(found) == PINNED or size > PINNED_SIZE:
            break
        found.append(text)
    return tuple(reversed(found))


def _turns(lines: Iterable[state.Line]) -> Iterable[Turn]:
    """Yield the turns. What comes before the first reply is one of its own."""
    turn = Turn(reply=None)
    for line in lines:
        if line.kind == lifecycle.EntryKind.REPLY:
            if turn.reply is not None or turn.said:
                yield turn
            turn = Turn(reply=line)
        else:
            _hear(turn, line)
        turn.last = line.position
    if turn.reply is not None or turn.said:
        yield turn


def _hear(turn: Turn, line: state.Line) -> None:
    content = line.content
    match line.kind:
        case lifecycle.EntryKind.RESULT:
            position, index = content["call"]
            if turn.reply is not None and position == turn.reply.position:
                turn.results[index] = line
                asked = turn.reply.content["calls"][index]["tool"] == contract.ASK
                if asked or content["status"] in _SAID_BY_PEOPLE:
                    turn.people.append(_outcome(line, HEAD))
            else:  # of a call that no reply of this turn made: a person asked for it
                turn.said.append(f"Meanwhile: {content['text']}")
        case lifecycle.EntryKind.MESSAGE if not content.get("final"):
            turn.said.append(str(content["text"]))
        case lifecycle.EntryKind.PLAN if content["author"] is not None:
            why = f" Reason: {content['reason']}" if content["reason"] else ""
            text = f"{content['author']} changed the plan; it is version {content['version']} now.{why}"
            turn.said.append(f"{text} Go by it.")
            turn.people.append(text)
        case lifecycle.EntryKind.CORRECTION:
            turn.said.append(
                "The input was corrected. It stands at the beginning; what was done with the old one may be wrong."
            )
        case lifecycle.EntryKind.NOTE if content.get("reopened") and content.get("code") == "retry":
            why = f" {content['reason']}" if content.get("reason") else ""
            turn.said.append(f"The run had failed. {content['by']} asks you to try again.{why}")


def _messages(turn: Turn, names: Mapping[str, str], limit: int) -> list[prompts.Message]:
    """Return a turn as messages; all its results together have about so many characters at most."""
    found: list[prompts.Message] = []
    answers: list[Mapping[str, Any]] = []
    if turn.reply is not None and not refused(turn.reply):
        content = turn.reply.content
        parts: list[Mapping[str, Any]] = [prompts.text(content["text"])] if content["text"].strip() else []
        head = min(HEAD, max(LEAST_HEAD, limit // max(1, len(content["calls"]))))
        for index, call in enumerate(content["calls"]):
            number, name = f"c{turn.reply.position}_{index}", names.get(call["tool"], call["tool"])
            arguments = controls.shown(call["tool"], call["arguments"], call["step"], names)
            parts.append(prompts.call(number, name, arguments))
            result = turn.results.get(index)
            answers.append(
                prompts.response(
                    number, name, "Nothing is known of it." if result is None else _outcome(result, head)
                )
            )
        if parts:
            found.append(prompts.message("assistant", parts))
    answers += [prompts.text(said) for said in turn.said]
    if answers:
        found.append(prompts.message("user", answers))
    return found


def refused(reply: state.Line) -> bool:
    """Return whether the model, or its vendor's filter, gave no answer: it is kept, and not sent again."""
    return bool(reply.content.get("flaw") in {"refusal", "content_filter"})


def _outcome(line: state.Line, head: int) -> str:
    """Return what came of a call, in words and with its value: the whole of it, or its head and where it goes on."""
    content = line.content
    value = state.value_of(content)
    words = f"[{content['status']}] {content['text'][:LONGEST_WORDS]}"
    if value is None:
        return words
    shown = value if isinstance(value, str) else prompts.readable(value)
    if len(shown) <= head:
        return f"{words}\n{shown}"
    more = f"read on with {controls.READ_MORE}: handle {line.position}, offset {head}"
    return f"{words}\n{shown[:head]}\n… {head:,} of {len(shown):,} characters; {more}."


def _summary(
    known: Known, turns: list[Turn], sent: list[list[prompts.Message]], *, fixed: int, room: int
) -> prompts.Prompt | None:
    """Return the call that summarises the oldest turns, as many as it takes and as fit into one call."""
    sizes = [prompts.tokens_of(messages) for messages in sent]
    output = max(200, min(known.output, int(SUMMARY * room)))
    texts: list[str] = []
    whole = fixed + sum(sizes)
    size, left, upto = 0, whole, 0
    for turn, messages, tokens in zip(turns[:-1], sent, sizes[:-1], strict=False):
        text = instructed.told(messages)
        size += prompts.tokens(text)
        if texts and (left <= DOWN_TO * room or size > NEAR * room):
            break
        texts.append(text)
        left, upto = left - tokens, turn.last
    if not texts or (whole - left < LEAST_GAIN * room and whole <= room):
        return None
    return prompts.Prompt(
        system=instructed.SUMMARISE,
        messages=(prompts.message("user", [prompts.text(instructed.to_summarise(known, texts))]),),
        output=output,
        upto=upto,
        pinned=pinned(known, upto),
    )


def _joined(messages: Sequence[prompts.Message]) -> tuple[prompts.Message, ...]:
    """Return the messages with neighbours of one role made one, and without empty ones."""
    found: list[prompts.Message] = []
    for one in messages:
        if not one["parts"]:
            continue
        if found and found[-1]["role"] == one["role"]:
            found[-1] = prompts.message(one["role"], [*found[-1]["parts"], *one["parts"]])
        else:
            found.append(one)
    return tuple(found)


def _schema(agent: contract.AgentSpec) -> Mapping[str, Any] | None:
    found: Mapping[str, Any] | None = agent.definition.get("output_schema")
    return found
