"""AgentDojo's environments: as they are outside, and as the log of a run says that they must be.

A suite's functions change an environment in memory. Here each run has one outside, which only its tools change, once
a call; and from any line of a run's log the environment of that moment can be worked out anew, from the calls that
were carried out up to there. The two must be the same: what a run goes on with is what its checkpoint holds.
"""

from __future__ import annotations

import datetime
import functools
import importlib
import types
import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any
from unittest import mock

import pydantic_core

VERSION = "v1.2.2"
SUITES = ("banking", "workspace", "slack", "travel")
NOW = datetime.datetime(2024, 5, 15, 12, 0)  # noqa: DTZ001 the suites know no time zone
"""Some functions write down the time; here it stands still, so that the same calls make the same environment."""
_CLOCKS = ("email_client", "cloud_drive_client")


@functools.cache
def suite(name: str) -> Any:
    """Return a suite; ImportError without the extra `suites`."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what it imports warns of itself
        found = importlib.import_module("agentdojo.task_suite.load_suites").get_suite(VERSION, name)
        for module in _CLOCKS:
            _stop(importlib.import_module(f"agentdojo.default_suites.v1.tools.{module}"))
    return found


def _stop(module: types.ModuleType) -> None:
    class Stopped(datetime.datetime):
        @classmethod
        def now(cls, tz: datetime.tzinfo | None = None) -> Any:
            return NOW

    mock.patch.object(
        module, "datetime", types.SimpleNamespace(**vars(datetime) | {"datetime": Stopped})
    ).start()


@functools.cache
def _default(name: str) -> Any:
    return suite(name).load_and_inject_default_environment({})


def beginning(name: str, task: str) -> Any:
    """Return the environment that a user's task begins with."""
    return suite(name).user_tasks[task].init_environment(_default(name).model_copy(deep=True))


def carry_out(name: str, environment: Any, function: str, arguments: Mapping[str, Any]) -> Any:
    """Return what a function of the suite answers as JSON; `environment` is then as after it."""
    known = {tool.name: tool for tool in suite(name).tools}[function]
    needed = {key: source.extract_dep_from_env(environment) for key, source in known.dependencies.items()}
    answer = known.run(**known.parameters.model_validate(arguments).model_dump(), **needed)
    return pydantic_core.to_jsonable_python(answer)


def after(name: str, task: str, calls: Iterable[tuple[str, Mapping[str, Any]]]) -> Any:
    """Return the environment after these calls, worked out from its beginning."""
    environment = beginning(name, task)
    for function, arguments in calls:
        carry_out(name, environment, function, arguments)
    return environment


@dataclass(frozen=True, kw_only=True)
class Done:
    """One call that was carried out, and the environment as it was then."""

    function: str
    arguments: Mapping[str, Any]
    key: str
    answer: Any
    environment: Any


@dataclass
class World:
    """What is outside of one run: its environment, and all that was ever done in it."""

    name: str
    task: str
    environment: Any
    done: list[Done] = field(default_factory=list)

    def do(self, function: str, arguments: Mapping[str, Any], key: str) -> Any:
        """Return what a call answers, carried out once under its key; what fails changes nothing."""
        known = next((one for one in self.done if key and one.key == key), None)
        if known is not None:
            return known.answer
        changed = self.environment.model_copy(deep=True)
        answer = carry_out(self.name, changed, function, arguments)
        self.environment = changed
        self.done.append(
            Done(function=function, arguments=arguments, key=key, answer=answer, environment=changed)
        )
        return answer


_worlds: dict[int, World] = {}


def begin(run_id: int, name: str, task: str) -> World:
    """Return the world of a new run."""
    _worlds[run_id] = World(name, task, beginning(name, task))
    return _worlds[run_id]


def of(run_id: int) -> World:
    """Return the world of a run."""
    return _worlds[run_id]
