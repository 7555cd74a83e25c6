"""What the engine does as spans, under the names of OpenTelemetry's conventions for generative AI.

A run is one trace, whose number follows from the run's: nothing is stored for it, and whoever has the run finds it.
Each slice of work is a span without one above, linked to the slice before; in it lie calls of models and tools. How
long a run waited, and what ended that, is an event of the slice that goes on: no span covers a wait.
Source of the names: https://opentelemetry.io/docs/specs/semconv/gen-ai/ (in development there).
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from django.conf import settings
from django.db import DatabaseError

from ckptsite import traces
from runs import exact, models, state
from runs.engine.frontier import Frontier
from runs.providers import contract
from runs.tools.contract import Tool
from runs.transitions.steps import Claim

Opened = contextlib.AbstractContextManager[traces.Span]


@contextlib.contextmanager
def slice_of(claim: Claim) -> Iterator[None]:
    """Open the span of one slice; it tells how long the run waited before, and what it rests for afterwards."""
    run = _read(claim.run_id) if traces.on() else None
    if run is None:
        yield
        return
    version = run.agent_version
    about: dict[str, traces.Value] = {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.agent.name": version.agent.name,
        "gen_ai.agent.version": str(version.number),
        "gen_ai.conversation.id": str(run.pk),
        "ckptsite.fence": claim.fence,
        "ckptsite.took_over": claim.took_over,
    }
    here, before = (_place(run.pk, fence) for fence in (claim.fence, claim.fence - 1))
    name = f"invoke_agent {version.agent.name}"
    with traces.span(name, about, place=here, after=before if claim.fence > 1 else None) as span:
        if (seconds := _still(run)) is not None:
            span.event("waited", {"ckptsite.seconds": seconds, "ckptsite.due": claim.due})
        yield
        if (now := _read(run.pk)) is not None:
            span.event("rests", {"ckptsite.status": now.status, "ckptsite.reason": now.reason})


def model(front: Frontier) -> Opened:
    """Open the span of one request to a model."""
    agent = front.agent
    about = {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": agent.model.partition(":")[0] or agent.provider,
        "gen_ai.request.model": agent.model,
        "gen_ai.agent.name": agent.name,
        "gen_ai.conversation.id": str(front.run.pk),
    }
    return traces.span(f"chat {agent.model}", about, kind="CLIENT")


def replied(span: traces.Span, reply: contract.Reply) -> None:
    """Tell what the reply cost."""
    used = reply.usage
    span.set({"gen_ai.usage.input_tokens": used.tokens_in, "gen_ai.usage.output_tokens": used.tokens_out})
    if used.cost_micro is not None:
        span.set({"ckptsite.cost_micro": used.cost_micro})
    if isinstance(model := reply.details.get("gen_ai.response.model"), str):
        span.set({"gen_ai.response.model": model})


def tool(
    front: Frontier, call: state.CallId, named: Tool, *, what: str = "execute_tool", attempt: int = 0
) -> Opened:
    """Open the span of one call of a tool, or of a look at whether one had happened."""
    about: dict[str, traces.Value] = {
        "gen_ai.operation.name": what,
        "gen_ai.tool.name": named.name,
        "gen_ai.tool.call.id": f"{front.run.pk}-{call[0]}-{call[1]}",
        "gen_ai.agent.name": front.agent.name,
        "gen_ai.conversation.id": str(front.run.pk),
        "ckptsite.effect": str(named.effect),
    }
    if attempt:
        about["ckptsite.attempt"] = attempt
    return traces.span(f"{what} {named.name}", about)


def _place(run_id: int, fence: int) -> traces.Place:
    trace = exact.seal(settings.KEY_HMAC, "trace", run_id)
    span = exact.seal(settings.KEY_HMAC, "slice", run_id, fence)
    return traces.Place(trace=int(trace[:32], 16), span=int(span[:16], 16))


def _still(run: models.Run) -> float | None:
    """Return for how many seconds nothing was written of the run before it was claimed."""
    with contextlib.suppress(DatabaseError):
        last = models.Entry.objects.filter(run=run).order_by("-position").first()
        if last is not None and run.claimed_at is not None:
            return round(max(0.0, (run.claimed_at - last.created_at).total_seconds()), 3)
    return None


def _read(run_id: int) -> models.Run | None:
    """Return the run; None while the database is away, which is no reason to hold up or to end anything."""
    with contextlib.suppress(DatabaseError):
        return models.Run.objects.select_related("agent_version__agent").get(pk=run_id)
    return None
