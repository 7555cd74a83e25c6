"""The edge to the vendors: our prompt into a request, its answer into our reply, and what goes wrong into words.

Only here the packages of the extra `llm` are imported. One request is made: the clients' own retries are off, and each
call has a connection of its own, so that nothing is shared between threads and nothing is left open.
"""

from __future__ import annotations

import asyncio
import json
import ssl
from collections.abc import Mapping
from functools import cache
from typing import Any

import httpx2
from anthropic import AsyncAnthropic
from openai import AsyncOpenAI
from pydantic_ai import direct, exceptions, messages
from pydantic_ai.models import Model, ModelRequestParameters
from pydantic_ai.models.anthropic import AnthropicModel
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.profiles.openai import OpenAIModelProfile
from pydantic_ai.providers.anthropic import AnthropicProvider
from pydantic_ai.providers.openai import OpenAIProvider
from pydantic_ai.settings import ModelSettings
from pydantic_ai.tools import ToolDefinition

from runs import redaction
from runs.providers import contract, controls, prices, prompts
from runs.providers.llm import NO_KEY

EARLIER = 0.9
"""After this part of its time a call ends by itself and says why, before the engine gives it up."""

LONGEST_WORDS = 300
_FLAWS: Mapping[str, contract.Flaw] = {
    "length": contract.Flaw(
        cause="length",
        words="Your reply was cut off at the limit of its length, so nothing of it was carried out. Be shorter: fewer"
        " calls at once, shorter texts.",
    ),
    "content_filter": contract.Flaw(cause="content_filter", words="", final=True),
}

Access = tuple[str | None, str]


def ask(
    request: contract.Request, *, vendor: str, model: str, access: Access, timeout: float
) -> contract.Reply:
    """Return the model's reply; refuse with contract.ProviderError."""
    prompt = request.prompt
    if prompt is None:
        raise contract.ProviderError("The agent's model was asked without a prompt.")
    if access[1] != NO_KEY:
        redaction.know("model", access[1])  # a server may quote it in what it says of an error
    try:
        response = asyncio.run(_ask(request, prompt, vendor, model, access, timeout))
    except Exception as error:
        raise _trouble(error, vendor, timeout) from error
    return _reply(request, prompt, response, vendor=vendor, model=model)


async def _ask(
    request: contract.Request, prompt: prompts.Prompt, vendor: str, model: str, access: Access, timeout: float
) -> messages.ModelResponse:
    definition = request.agent.definition
    seconds = timeout * EARLIER
    settings = ModelSettings(max_tokens=prompt.output, request_timeout=seconds, timeout=seconds)
    if "temperature" in definition:
        settings["temperature"] = definition["temperature"]
    tools = [
        ToolDefinition(
            name=name,
            description=tool.description,
            parameters_json_schema=dict(tool.parameters),
            strict=False,
        )
        for name, tool in _named(prompt, request).items()
    ]
    parameters = ModelRequestParameters(function_tools=tools)
    async with httpx2.AsyncClient(timeout=seconds, verify=_trust()) as client:
        asked = _model(vendor, model, access, client, own="base_url" in definition)
        sent = _sent(prompt, cached=vendor == "anthropic" and prompt.upto is None)
        if not definition.get("stream", False):
            return await direct.model_request(
                asked, sent, model_settings=settings, model_request_parameters=parameters
            )
        async with direct.model_request_stream(
            asked, sent, model_settings=settings, model_request_parameters=parameters
        ) as stream:
            async for _ in stream:
                pass
            found = stream.get()
        if found.finish_reason is None and "base_url" not in definition:  # it never said that it is done
            raise contract.ProviderError(
                f"{vendor}'s answer ended too soon.", retryable=True, maybe_paid=True
            )
        return found


@cache
def _trust() -> ssl.SSLContext:
    """Return whom we trust, read once: it takes longer than everything else that we do for a call."""
    return httpx2.create_ssl_context()


def _model(vendor: str, model: str, access: Access, client: httpx2.AsyncClient, *, own: bool) -> Model:
    base, key = access
    if vendor == "anthropic":
        anthropic = AsyncAnthropic(api_key=key, base_url=base, http_client=client, max_retries=0)
        return AnthropicModel(model, provider=AnthropicProvider(anthropic_client=anthropic))
    openai = AsyncOpenAI(api_key=key, base_url=base, http_client=client, max_retries=0)
    # A stream that just ends was cut; some servers of one's own never say that they are done.
    profile = OpenAIModelProfile(openai_chat_streaming_requires_finish_reason=not own)
    return OpenAIChatModel(model, provider=OpenAIProvider(openai_client=openai), profile=profile)


def _named(prompt: prompts.Prompt, request: contract.Request) -> dict[str, prompts.Tool]:
    names = controls.safe_names([*request.agent.tools, controls.READ_MORE])
    return {names.get(tool.name, tool.name): tool for tool in prompt.tools}


def _sent(prompt: prompts.Prompt, *, cached: bool) -> list[messages.ModelMessage]:
    """Return the messages; `cached` lets the vendor keep all but the very end, which is the same the next time.

    Others than Anthropic do so by themselves.
    """
    found: list[messages.ModelMessage] = []
    for one in prompt.messages:
        if one["role"] == "assistant":
            found.append(messages.ModelResponse(parts=[_said(part) for part in one["parts"]]))
        else:
            # The instructions go with the last one, which is where they are looked for.
            told = [_told(part) for part in one["parts"]]
            if cached and one is prompt.messages[-1]:
                told.insert(-1, messages.UserPromptPart(content=[messages.CachePoint()]))
            found.append(messages.ModelRequest(parts=told, instructions=prompt.system))
    return found


def _said(part: Mapping[str, Any]) -> messages.TextPart | messages.ToolCallPart:
    if part["type"] == "text":
        return messages.TextPart(content=part["content"])
    return messages.ToolCallPart(tool_name=part["name"], args=part["arguments"], tool_call_id=part["id"])


def _told(part: Mapping[str, Any]) -> messages.UserPromptPart | messages.ToolReturnPart:
    if part["type"] == "text":
        return messages.UserPromptPart(content=part["content"])
    return messages.ToolReturnPart(tool_name=part["name"], content=part["response"], tool_call_id=part["id"])


def _reply(
    request: contract.Request,
    prompt: prompts.Prompt,
    response: messages.ModelResponse,
    *,
    vendor: str,
    model: str,
) -> contract.Reply:
    said = "".join(part.content for part in response.parts if isinstance(part, messages.TextPart))
    called = [part for part in response.parts if isinstance(part, messages.ToolCallPart)]
    reason = response.finish_reason
    refusal = str((response.provider_details or {}).get("refusal") or "")
    flaw = _FLAWS.get(str(reason))
    if flaw is not None and flaw.final:
        words = f"The model refused to answer: {(refusal or said or 'it gave no reason')[:LONGEST_WORDS]}"
        flaw = contract.Flaw(cause="refusal" if refusal or said else flaw.cause, words=words, final=True)
    names = {
        safe: own for own, safe in controls.safe_names([*request.agent.tools, controls.READ_MORE]).items()
    }
    calls = tuple(
        _call(part, names, prompt, alone=len(called) == 1, cut=flaw) for part in called if prompt.upto is None
    )
    return contract.Reply(
        text=said or refusal,
        calls=calls,
        usage=_usage(
            prompt, response, said, vendor=vendor, model=model, own="base_url" in request.agent.definition
        ),
        flaw=flaw,
        details={
            "gen_ai.provider.name": vendor,
            "gen_ai.request.model": model,
            "gen_ai.response.model": response.model_name or model,
            "gen_ai.response.id": response.provider_response_id or "",
            "gen_ai.response.finish_reasons": [] if reason is None else [str(reason)],
            "gen_ai.usage.cache_read.input_tokens": response.usage.cache_read_tokens,
            "gen_ai.usage.cache_creation.input_tokens": response.usage.cache_write_tokens,
        },
    )


def _call(
    part: messages.ToolCallPart,
    names: Mapping[str, str],
    prompt: prompts.Prompt,
    *,
    alone: bool,
    cut: contract.Flaw | None,
) -> contract.Call:
    given: Any = part.args if part.args is not None else {}
    if isinstance(given, str):
        try:
            given = json.loads(given or "{}")
        except ValueError:  # told as it came
            given = str(part.args)
    label = part.tool_call_id[:200]
    if cut is not None:
        malformed = "it stood in a reply that can't be used."
        return contract.Call(
            tool=names.get(part.tool_name, part.tool_name), arguments=given, label=label, malformed=malformed
        )
    return controls.call(part.tool_name, given, label=label, names=names, planned=prompt.planned, alone=alone)


def _usage(
    prompt: prompts.Prompt, response: messages.ModelResponse, said: str, *, vendor: str, model: str, own: bool
) -> contract.Usage:
    used = response.usage
    if not used.input_tokens:  # the server doesn't say: as counted here
        out = prompts.tokens(said) + sum(prompts.tokens(str(part.args)) for part in response.parts
                                         if isinstance(part, messages.ToolCallPart))  # fmt: skip
        cost = None if own else prices.of_tokens(vendor, model, tokens_in=prompt.tokens, tokens_out=out)
        return contract.Usage(tokens_in=prompt.tokens, tokens_out=out, cost_micro=cost)
    cost = None if own else prices.cost_micro(vendor, model, used)
    return contract.Usage(tokens_in=used.input_tokens, tokens_out=used.output_tokens, cost_micro=cost)


def _trouble(error: Exception, vendor: str, timeout: float) -> contract.ProviderError:
    """Return what an error means: whether waiting helps, for how long, and whether it may have to be paid for."""
    match error:
        case contract.ProviderError():
            return error
        case exceptions.ModelRequestTimeout() | exceptions.ModelTimeoutError() | TimeoutError():
            words = f"{vendor} did not answer within {timeout:.0f} seconds."
            return contract.ProviderError(words, retryable=True, maybe_paid=True)
        case exceptions.ModelConnectionError():
            sent = error.phase not in {"pool", "connect"}
            words = f"The connection to {vendor} broke." if sent else f"There is no connection to {vendor}."
            return contract.ProviderError(words, retryable=True, maybe_paid=sent)
        case exceptions.ModelContextWindowExceededError():
            words = f"What the model would be sent is longer than it takes. {_words(error)} Lower the agent's 'window'."
            return contract.ProviderError(words)
        case exceptions.ModelRateLimitError():
            words = f"{vendor} takes no more requests for now. {_words(error)}"
            return contract.ProviderError(words, retryable=True, retry_after=error.retry_after)
        case exceptions.ModelUnavailableError() | exceptions.ModelServerError():
            words = f"{vendor} has trouble of its own. {_words(error)}"
            paid = error.in_stream
            return contract.ProviderError(
                words, retryable=True, retry_after=error.retry_after, maybe_paid=paid
            )
        case exceptions.ModelAuthenticationError():
            return contract.ProviderError(f"{vendor} does not accept the key. {_words(error)}")
        case exceptions.ModelHTTPError() | exceptions.ModelAPIError():
            status = getattr(error, "status_code", 0)
            again = status in {408, 409, 425} or status >= 500 or not status
            words = (
                f"{vendor} refuses the request. {_words(error)}"
                if status
                else f"{vendor}'s answer ended too soon."
            )
            return contract.ProviderError(
                words, retryable=again, retry_after=error.retry_after, maybe_paid=not status
            )
        case exceptions.UnexpectedModelBehavior():
            return contract.ProviderError(
                f"{vendor}'s answer can't be read.", retryable=True, maybe_paid=True
            )
    kind = type(error).__name__
    return contract.ProviderError(
        f"{vendor} could not be asked: {kind}: {redaction.clean(str(error))[:LONGEST_WORDS]}", maybe_paid=True
    )


def _words(error: exceptions.ModelAPIError) -> str:
    """Return what the server said, without the key and not at length."""
    body = error.body
    if isinstance(body, Mapping):
        inner = body.get("error", body)
        body = inner.get("message", inner) if isinstance(inner, Mapping) else inner
    said = redaction.clean(" ".join(str(body or "").split()))[:LONGEST_WORDS]
    return f"It says: {said}" if said else ""
