"""Models of Anthropic, of OpenAI, and of any server that speaks as OpenAI does: one call a reply, no loop, no retries.

The agent's model is "anthropic:<name>" or "openai:<name>". Its definition may have:

- `output_schema`: the JSON Schema that the result of `finish` has to fit;
- `facts`: texts that are always sent;
- `max_tokens` (4,096): the longest reply; `window` (100,000): so many tokens may a request and its reply have together;
- `temperature`, and `stream` (false): whether the reply comes piece by piece, which shows a cut early;
- `base_url`: the address of a server of one's own, such as Ollama or vLLM. It gets no key but that in `key`;
- `key`: "secret://<name>", a secret that the agent may use for the tool "model".

Without them the keys and addresses are those of the environment: ANTHROPIC_API_KEY, ANTHROPIC_BASE_URL,
OPENAI_API_KEY, OPENAI_BASE_URL. A key is read where the call is made and stored nowhere.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from importlib.util import find_spec
from typing import Any

from runs import jsonschemas, state
from runs.providers import contract, prices

EXTRA = "Models need the extra 'llm': pip install 'ckptsite[llm]'."
KEYS = {"anthropic": "ANTHROPIC_API_KEY", "openai": "OPENAI_API_KEY"}
BASES = {"anthropic": "ANTHROPIC_BASE_URL", "openai": "OPENAI_BASE_URL"}
NO_KEY = "none"
"""What a server without keys is sent in the place of one."""
OUTPUT, WINDOW, LEAST_WINDOW = 4_096, 100_000, 4_000

_COUNTS = ("max_tokens", "window")
_KNOWN = frozenset({"output_schema", "facts", "temperature", "stream", "base_url", "key", *_COUNTS})
_SECRET = re.compile(r"secret://([a-z0-9][a-z0-9_.-]*)")


def installed() -> bool:
    """Return whether the packages of the extra are there."""
    return find_spec("pydantic_ai") is not None and find_spec("genai_prices") is not None


def load() -> None:
    """Import what the calls need, which takes seconds the first time: not while a call's time is running."""
    if installed():
        from runs.providers import llm_wire as llm_wire  # noqa: PLC0415 it imports what only the extra brings


def vendor_of(model: str) -> tuple[str, str]:
    """Return vendor and name of a model; refuse (ValueError) what names neither."""
    vendor, _, name = model.partition(":")
    if vendor not in KEYS or not name.strip():
        raise ValueError(f"The model {model!r} must be named as 'anthropic:<name>' or 'openai:<name>'.")
    return vendor, name


def limits(agent: contract.AgentSpec) -> tuple[int, int]:
    """Return how many tokens a request with its reply may have, and the reply alone."""
    definition = agent.definition
    return int(definition.get("window", WINDOW)), int(definition.get("max_tokens", OUTPUT))


class Llm:
    """The provider `llm`."""

    name = "llm"
    local = False
    prompted = True

    def references(self, agent: contract.AgentSpec, plan: tuple[state.PlanStep, ...]) -> frozenset[str]:
        """Return nothing: what the model needs stands in its prompt."""
        return frozenset()

    def check(self, definition: Mapping[str, Any], tools: tuple[str, ...]) -> None:
        """Refuse (ValueError, one sentence) a definition that can't be run."""
        if not installed():
            raise ValueError(EXTRA)
        if extra := sorted(set(definition) - _KNOWN):
            raise ValueError(f"A model's agent has no {extra[0]!r}; there are {', '.join(sorted(_KNOWN))}.")
        for name in _COUNTS:
            if type(definition.get(name, 1)) is not int or definition.get(name, 1) < 1:
                raise ValueError(f"{name!r} must be a whole number from 1.")
        window, output = definition.get("window", WINDOW), definition.get("max_tokens", OUTPUT)
        if window < LEAST_WINDOW or output > window // 2:
            raise ValueError(
                f"'window' must be at least {LEAST_WINDOW:,} tokens, and 'max_tokens' at most half of it."
            )
        if "output_schema" in definition:
            jsonschemas.check(definition["output_schema"])
        facts = definition.get("facts", [])
        if not isinstance(facts, list) or not all(isinstance(fact, str) for fact in facts):
            raise ValueError("'facts' must be a list of texts.")
        if type(definition.get("stream", False)) is not bool:
            raise ValueError("'stream' must be true or false.")
        if type(definition.get("temperature", 0)) not in (int, float):
            raise ValueError("'temperature' must be a number.")
        base = definition.get("base_url", "https://")
        if not isinstance(base, str) or not base.startswith(("http://", "https://")):
            raise ValueError("'base_url' must begin with http:// or https://.")
        if not _SECRET.fullmatch(str(definition.get("key", "secret://none"))):
            raise ValueError(
                "'key' must be a reference such as 'secret://model'; keys are never written down."
            )

    def estimate(self, request: contract.Request) -> contract.Usage:
        """Return the most that this request can cost: its tokens, counted on the high side, and the output limit."""
        if request.prompt is None:
            return contract.Usage(cost_micro=None)
        vendor, model = _vendor(request.agent.model)
        tokens_in, tokens_out = request.prompt.tokens, request.prompt.output
        known = "base_url" not in request.agent.definition and installed()
        cost = prices.of_tokens(vendor, model, tokens_in=tokens_in, tokens_out=tokens_out) if known else None
        return contract.Usage(tokens_in=tokens_in, tokens_out=tokens_out, cost_micro=cost)

    def complete(self, request: contract.Request, *, timeout: float) -> contract.Reply:
        """Return the model's reply within `timeout` seconds; refuse with ProviderError."""
        if not installed():
            raise contract.ProviderError(EXTRA)
        from runs.providers import llm_wire  # noqa: PLC0415 it imports what only the extra brings

        vendor, model = _vendor(request.agent.model)
        return llm_wire.ask(
            request, vendor=vendor, model=model, access=access(request, vendor), timeout=timeout
        )


def access(request: contract.Request, vendor: str) -> tuple[str | None, str]:
    """Return address (None: the vendor's own) and key of the server; refuse (ProviderError) where there is no key."""
    definition = request.agent.definition
    base = definition.get("base_url") or os.environ.get(BASES[vendor]) or None
    reference = _SECRET.fullmatch(str(definition.get("key", "")))
    if reference is not None:
        return base, request.secret(reference[1])
    if "base_url" in definition:  # what the environment holds is for the vendor only
        return base, NO_KEY
    key = os.environ.get(KEYS[vendor], "")
    if not key:
        raise contract.ProviderError(
            f"There is no key for {vendor}: set {KEYS[vendor]}, or give the agent a 'key' (secret://name)."
        )
    return base, key


def _vendor(model: str) -> tuple[str, str]:
    try:
        return vendor_of(model)
    except ValueError as error:
        raise contract.ProviderError(str(error)) from None
