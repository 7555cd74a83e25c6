"""The products that are measured side by side: each carries out the same run as its own documentation says.

A run has so many steps: the model replies with one call, and an effect is carried out whose result is 1 kB. Then it
stops several times before an effect that a person must release. Models and effects do nothing and take no time, so that
only the product is measured. All of it is told by `Moments`: when the model was asked, when an effect began.
"""

from __future__ import annotations

from collections.abc import Callable

from tests.bench.sides import ckptsite, common, dbos, langgraph

SIDES: dict[str, tuple[Callable[[str], common.Side], str]] = {
    "ckptsite": (ckptsite.Ckptsite, ckptsite.GUARANTEE),
    "dbos-intent": (lambda url: dbos.Dbos(url, intent=True), dbos.WITH_INTENT),
    "langgraph-intent": (lambda url: langgraph.LangGraph(url, intent=True), langgraph.WITH_INTENT),
    "langgraph-intent-delta": (
        lambda url: langgraph.LangGraph(url, intent=True, delta=True),
        f"{langgraph.WITH_INTENT}; messages in a delta channel, which is in beta",
    ),
    "dbos": (lambda url: dbos.Dbos(url, intent=False), dbos.PLAIN),
    "langgraph": (lambda url: langgraph.LangGraph(url, intent=False), langgraph.PLAIN),
}
"""Each with what it promises."""

OURS = "ckptsite"
