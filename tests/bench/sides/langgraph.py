"""LangGraph with PostgresSaver: a graph of nodes; each super-step's checkpoint is committed before the next begins.

The mode is "sync", the only one in which an effect never runs ahead of what is stored. An approval is an `interrupt`
in a node before the effect's, as its documentation advises. With `intent` a node of its own comes before each effect.
The messages are kept as in its `MessagesState`, or with `delta` in a channel that stores what is new and, every 100th
time, all of them: that one is in beta.
"""

import contextlib
import importlib
import operator
import time
from typing import Annotated, Any, TypedDict

from tests.bench.sides import common

PLAIN = "a checkpoint committed after each node; an effect that was cut off before that commit is done again"
WITH_INTENT = (
    "an intent as a node of its own, committed before the effect's node, and the effect's result after it; an effect"
    " that was cut off is done again, unless the program itself looks for that intent"
)

_MODULES = ("langgraph.checkpoint.postgres", "langgraph.graph.message", "langgraph.types")
"""What is imported before time is taken."""


class _Enough(Exception):
    """The model was asked, which is all that was to be seen."""


def _joined(messages: list[Any], writes: Any) -> list[Any]:
    """Return the messages and all that were written, in their order."""
    return [*messages, *(message for write in writes for message in write)]


class LangGraph:
    """One process with one connection, made as its documentation makes it."""

    def __init__(self, url: str, *, intent: bool, delta: bool = False) -> None:
        """Use the database at `url`."""
        self.moments = common.Moments()
        self._url, self._intent, self._delta = url, intent, delta
        self._limit = common.Limit(0, asks=1, seconds=0)
        self._graph: Any = None
        self._saver: Any = None
        self._forking = False
        self._open = contextlib.ExitStack()

    def open(self) -> None:
        """Connect, and compile the graph."""
        from langchain_core.messages import AIMessage, ToolMessage
        from langgraph.channels.delta import DeltaChannel
        from langgraph.checkpoint.postgres import PostgresSaver
        from langgraph.graph import END, START, StateGraph
        from langgraph.graph.message import add_messages
        from langgraph.types import interrupt

        saver = self._open.enter_context(PostgresSaver.from_conn_string(self._url))
        moments = self.moments

        class State(TypedDict):
            messages: Annotated[list[Any], DeltaChannel(_joined) if self._delta else add_messages]
            intent: str
            asked: Annotated[int, operator.add]

        def model(state: State) -> dict[str, Any]:
            moments.model()
            if self._forking:
                raise _Enough
            number = len(state["messages"]) // 2
            over = state["asked"] > 0 or self._limit.reached(number)
            if state["asked"] == self._limit.asks:
                return {"messages": [AIMessage("Done.")]}
            tool = "bench.send" if over else "bench.note"
            call = {"name": tool, "args": {"name": f"item {number}"}, "id": f"call-{number}"}
            usage = {"input_tokens": 1200, "output_tokens": 40, "total_tokens": 1240}
            reply = AIMessage("Next.", tool_calls=[call], usage_metadata=usage)
            return {"messages": [reply], "asked": int(over)}

        def ask(state: State) -> dict[str, Any]:
            moments.person()
            interrupt(state["messages"][-1].tool_calls)
            return {}

        def intend(state: State) -> dict[str, Any]:
            return {"intent": state["messages"][-1].tool_calls[0]["id"]}

        def tool(state: State) -> dict[str, Any]:
            call = state["messages"][-1].tool_calls[0]
            return {"messages": [ToolMessage(moments.effect(call["args"]["name"]), tool_call_id=call["id"])]}

        act = "intend" if self._intent else "tool"

        def route(state: State) -> str:
            calls = state["messages"][-1].tool_calls
            if not calls:
                return str(END)
            return "ask" if calls[0]["name"] == "bench.send" else act

        graph = StateGraph(State)
        for node in (model, ask, tool, *((intend,) if self._intent else ())):
            graph.add_node(node.__name__, node)
        graph.add_edge(START, "model")
        graph.add_conditional_edges("model", route, ["ask", act, END])
        graph.add_edge("ask", act)
        if self._intent:
            graph.add_edge("intend", "tool")
        graph.add_edge("tool", "model")
        self._graph, self._saver = graph.compile(checkpointer=saver), saver

    def start(self, limit: common.Limit) -> str:
        """Invoke the graph until it interrupts itself."""
        from langchain_core.messages import HumanMessage

        self._limit = limit
        self._saver.setup()  # the first time it makes the tables
        run = f"run-{time.time_ns()}"
        self._invoke(run, {"messages": [HumanMessage("Begin.")], "asked": 0})
        return run

    def answer(self, run: str) -> None:
        """Invoke it again with the answer."""
        from langgraph.types import Command

        self._invoke(run, Command(resume={"verdict": "approve"}))

    def answer_first(self, run: str) -> float:
        """Connect, and invoke with the answer: it has nowhere else to be kept."""
        for name in _MODULES:
            importlib.import_module(name)
        began = time.perf_counter()
        self.open()
        self.answer(run)
        return began

    def read(self, run: str) -> int:
        """Get the state of the thread."""
        from langchain_core.messages import ToolMessage

        values = self._graph.get_state(self._at(run)).values
        return sum(isinstance(message, ToolMessage) for message in values["messages"])

    def fork(self, run: str, step: int) -> None:
        """Update the state of the checkpoint after so many effects, and invoke from there until the model is asked."""
        number = step * (3 if self._intent else 2)
        (cut,) = self._graph.get_state_history(
            self._at(run), filter={"step": number, "source": "loop"}, limit=1
        )
        assert cut.next == ("model",), cut.next
        new = self._graph.update_state(cut.config, {"intent": "once more"}, as_node="tool")
        self._forking = True
        try:
            self._graph.invoke(None, {**self._at(run), **new}, durability="sync")
        except _Enough:
            return
        finally:
            self._forking = False

    def _invoke(self, run: str, given: Any) -> None:
        self._graph.invoke(given, self._at(run), durability="sync")

    def _at(self, run: str) -> dict[str, Any]:
        return {"configurable": {"thread_id": run}, "recursion_limit": 1_000_000}
