"""DBOS: a workflow of steps; each step's output is committed once it has returned.

An approval is a message that the workflow waits for, and the question an event that it sets, as in its own example of
an agent with a person in the loop. With `intent` a step of its own says before each effect that it will be tried.
"""

from __future__ import annotations

import time
from typing import Any

from tests.bench.sides import common

PLAIN = "a step's output committed after it; an effect that was cut off before that commit is done again"
WITH_INTENT = (
    "an intent as a step of its own, committed before the effect, and the effect's output after it; an effect that was"
    " cut off is done again, unless the program itself looks for that intent"
)
LONG = 86_400.0


class Dbos:
    """One process with DBOS in it, settings as they come: LISTEN and NOTIFY, its queue looked at once a second."""

    def __init__(self, url: str, *, intent: bool) -> None:
        """Use the database at `url`."""
        self.moments = common.Moments()
        self._url, self._intent = url, intent
        self._limit = common.Limit(0, asks=1, seconds=0)
        self._flow: Any = None
        self._ended = 0

    def open(self) -> None:
        """Launch, with the workflow and its steps."""
        from dbos import DBOS

        DBOS(
            config={
                "name": "beside",
                "system_database_url": self._url,
                "log_level": "CRITICAL",
                "application_version": "1",  # the process that goes on has the same
            }
        )
        moments = self.moments

        def ask_model(number: int) -> dict[str, Any]:
            moments.model()
            call = {"tool": "bench.note", "arguments": {"name": f"item {number}"}, "label": f"call-{number}"}
            return {
                "text": "Next.",
                "calls": [call],
                "usage": {"tokens_in": 1200, "tokens_out": 40, "cost_micro": 900},
                "last": self._limit.reached(number + 1),
            }

        def say_intent(call: dict[str, Any]) -> dict[str, Any]:
            return call

        def do_effect(call: dict[str, Any]) -> dict[str, Any]:
            return {"summary": "Done.", "value": {"text": moments.effect(call["arguments"]["name"])}}

        model, intend, effect = (DBOS.step()(one) for one in (ask_model, say_intent, do_effect))

        def act(call: dict[str, Any]) -> None:
            if self._intent:
                intend(call)
            effect(call)

        def work(asks: int) -> int:
            number, last = 0, False
            while not last:
                reply = model(number)
                act(reply["calls"][0])
                number, last = number + 1, reply["last"]
            for more in range(asks):
                call = model(number + more)["calls"][0]
                DBOS.set_event("question", call)
                moments.person()
                DBOS.recv("approval", timeout_seconds=LONG)
                act(call)
            self._ended += 1
            return number + asks

        self._flow = DBOS.workflow()(work)
        DBOS.launch()

    def start(self, limit: common.Limit) -> str:
        """Start the workflow, and wait until it waits."""
        from dbos import DBOS

        self._limit = limit
        run: str = DBOS.start_workflow(self._flow, limit.asks).workflow_id
        self.moments.until(lambda: len(self.moments.stopped) == 1, within=common.FOREVER)
        return run

    def answer(self, run: str) -> None:
        """Send the message, and wait until it waits again."""
        from dbos import DBOS

        before = len(self.moments.stopped)
        DBOS.send(run, {"verdict": "approve"}, topic="approval")
        self.moments.until(lambda: len(self.moments.stopped) > before)

    def answer_first(self, run: str) -> float:
        """Send the message from outside, and launch: what was under way is recovered, step by step from the first."""
        from dbos import DBOS, DBOSClient

        client = DBOSClient(system_database_url=self._url)
        client.send(run, {"verdict": "approve"}, topic="approval")
        client.destroy()
        began = time.perf_counter()
        self.open()
        DBOS.retrieve_workflow(run).get_result()
        return began

    def read(self, run: str) -> int:
        """List the steps with their outputs."""
        from dbos import DBOS

        steps = DBOS.list_workflow_steps(run)
        return sum(step["function_name"].endswith("do_effect") for step in steps)

    def fork(self, run: str, step: int) -> None:
        """Fork from the model's step after so many effects; the fork is cancelled once its model was asked."""
        from dbos import DBOS

        before = len(self.moments.asked)
        first = 1 + step * (3 if self._intent else 2)
        new = DBOS.fork_workflow(run, first)
        self.moments.until(lambda: len(self.moments.asked) > before, within=common.FOREVER)
        DBOS.cancel_workflow(new.workflow_id)
