"""The replay provider: gives the replies of a recorded run again, one by one, and then ends.

A recording is {"replies": [...], "finish": {...}}:

- each reply has `calls` (of `tool`, `arguments`, and optionally `step` and `label`), and may have `text` and `usage`
  (`tokens_in`, `tokens_out`, `cost_micro`, which is null where the price is unknown);
- `finish` (`summary`, `result`) is what the run ends with after the last of them; a recording that ends with a
  `finish` call of its own doesn't come so far.

The agent's definition is a recording, or {"input": "<name>"}: then each run brings its own under that name. The run
says how many replies it has stored, and that is the place in the recording: nothing else is remembered, so a run that
was interrupted goes on at the reply where it was. One reply costs the same wherever in the recording it stands.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from runs import state
from runs.providers import contract

_REPLY = frozenset({"text", "calls", "usage"})
_CALL = frozenset({"tool", "arguments", "step", "label"})
_USAGE = frozenset({"tokens_in", "tokens_out", "cost_micro"})
_FINISH = frozenset({"summary", "result"})


class BadRecording(ValueError):
    """The recording, or one reply of it, can't be replayed; the message is one sentence."""


class Replay:
    """Gives a recorded run's replies again; calls no model, and depends on the number of replies only."""

    name = "replay"
    local = True
    prompted = False

    def references(self, agent: contract.AgentSpec, plan: tuple[state.PlanStep, ...]) -> frozenset[str]:
        """Return nothing: what was recorded doesn't depend on results."""
        return frozenset()

    def check(self, definition: Mapping[str, Any], tools: tuple[str, ...]) -> None:
        """Refuse (BadRecording, one sentence) a definition that isn't a recording, or calls tools it hasn't got."""
        if "input" in definition:
            if set(definition) != {"input"} or not _is_text(definition["input"]):
                raise BadRecording("'input' names the input that holds the recording, and stands alone.")
            return
        _recording(definition)
        for number, raw in enumerate(definition["replies"], start=1):
            for call in _reply(raw, number).calls:
                if call.tool not in contract.CONTROL and call.tool not in tools:
                    raise BadRecording(f"Reply {number}: the agent has no tool {call.tool!r}.")

    def estimate(self, request: contract.Request) -> contract.Usage:
        """Return what the reply that was recorded at this place has cost."""
        replies, at = _recording(_of(request))[1], request.replies
        return _usage(replies[at].get("usage", {}), at + 1) if at < len(replies) else contract.Usage()

    def complete(self, request: contract.Request, *, timeout: float) -> contract.Reply:
        """Return the reply that was recorded at this place, or the end; refuse (ProviderError) a bad recording."""
        try:
            recording, replies = _recording(_of(request))
            if request.replies < len(replies):
                return _reply(replies[request.replies], request.replies + 1)
        except BadRecording as error:
            raise contract.ProviderError(f"The recording can't be replayed. {error}") from error
        ending = {
            "summary": f"All {len(replies)} recorded replies were given.",
            **recording.get("finish", {}),
        }
        call = contract.Call(tool=contract.FINISH, arguments=ending, label=contract.FINISH)
        return contract.Reply(text=ending["summary"], calls=(call,))


def _of(request: contract.Request) -> Any:
    definition = request.agent.definition
    return request.input.get(definition["input"]) if "input" in definition else definition


def _recording(raw: Any) -> tuple[Mapping[str, Any], list[Any]]:
    """Return a recording and its replies; refuse (BadRecording) what isn't one. The replies are not looked at."""
    if not isinstance(raw, Mapping) or not isinstance(raw.get("replies"), list):
        raise BadRecording("A recording needs a list of 'replies'.")
    if extra := sorted(set(raw) - {"replies", "finish"}):
        raise BadRecording(f"A recording has no key {extra[0]!r}.")
    finish = raw.get("finish", {"summary": "-"})
    if not isinstance(finish, Mapping) or not set(finish) <= _FINISH or not _is_text(finish.get("summary")):
        raise BadRecording("'finish' must have a 'summary' (a text), and may have a 'result'.")
    return raw, raw["replies"]


def _reply(raw: Any, number: int) -> contract.Reply:
    """Return one recorded reply; refuse (BadRecording) one of the wrong shape."""
    if not isinstance(raw, Mapping) or not set(raw) <= _REPLY or not isinstance(raw.get("text", ""), str):
        raise BadRecording(f"Reply {number} must have 'calls', and may have a 'text' and 'usage'.")
    calls = raw.get("calls")
    if not isinstance(calls, list) or not calls:
        raise BadRecording(f"Reply {number} needs a list of 'calls'; the last one may call 'finish'.")
    return contract.Reply(
        text=raw.get("text", ""),
        calls=tuple(_call(call, number) for call in calls),
        usage=_usage(raw.get("usage", {}), number),
    )


def _call(raw: Any, number: int) -> contract.Call:
    if not isinstance(raw, Mapping) or not set(raw) <= _CALL or not _is_text(raw.get("tool")):
        raise BadRecording(f"Reply {number}: a call needs a 'tool' and its 'arguments'.")
    step, label = raw.get("step"), raw.get("label", "")
    if not (step is None or _is_text(step)) or not isinstance(label, str):
        raise BadRecording(f"Reply {number}: 'step' and 'label' of a call are texts.")
    return contract.Call(tool=raw["tool"], arguments=raw.get("arguments", {}), step=step, label=label)


def _usage(raw: Any, number: int) -> contract.Usage:
    if not isinstance(raw, Mapping) or not set(raw) <= _USAGE:
        raise BadRecording(f"Reply {number}: 'usage' has 'tokens_in', 'tokens_out' and 'cost_micro' only.")
    tokens_in, tokens_out = raw.get("tokens_in", 0), raw.get("tokens_out", 0)
    cost = raw.get("cost_micro", 0)
    if not (_is_count(tokens_in) and _is_count(tokens_out) and (cost is None or _is_count(cost))):
        raise BadRecording(f"Reply {number}: usage is counted in whole numbers from 0.")
    return contract.Usage(tokens_in=tokens_in, tokens_out=tokens_out, cost_micro=cost)


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and bool(value.strip())


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0
