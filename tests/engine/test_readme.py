"""The README's example is real: its tool and its agent run as they stand there."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any
from unittest import mock

import pytest
from django.conf import LazySettings

from runs import models, seed, testing
from runs.tools import registry
from runs.transitions import starts
from runs.transitions.actor import Actor
from tests.engine.conftest import answer, go, only_review

README = Path(__file__).parent.parent.parent / "README.md"


def block(name: str) -> str:
    """Return the README's code block that begins with this file name."""
    found = re.search(rf"```python\n# {re.escape(name)}\n(.*?)```", README.read_text(), re.DOTALL)
    assert found is not None
    return found.group(1)


@pytest.mark.django_db(transaction=True)
def test_the_example_runs(
    settings: LazySettings, tmp_path: Path, person: Callable[..., models.User], operator: models.User
) -> None:
    settings.CKPTSITE_DATA = tmp_path
    with mock.patch.dict(registry._tools):
        exec(compile(block("helpdesk/tools.py"), "helpdesk/tools.py", "exec"), {"__name__": "helpdesk.tools"})  # noqa: S102 the point of this test
        space: dict[str, object] = {"__name__": "helpdesk.agents"}
        exec(compile(block("helpdesk/agents.py"), "helpdesk/agents.py", "exec"), space)  # noqa: S102 the same
        agents = space["AGENTS"]
        assert isinstance(agents, list)
        seed.register(agents[0])
        run = starts.start_run(
            "helpdesk", input={"ticket": "T-7"}, title="", by=Actor(user=operator), token="readme"
        )
        run = go(run)
        review = only_review(run)
        assert review.title == "Ticket T-7 is answered."
        answer(review, person("rita", "reviewer"), "approve")
        run = go(run)
    assert (run.status, run.summary) == ("succeeded", "Ticket T-7: done.")
    assert (tmp_path / "answers.log").read_text().endswith(" T-7\n")
    assert len((tmp_path / "answers.log").read_text().splitlines()) == 1


def test_the_proof_of_the_example_holds(settings: LazySettings, tmp_path: Path) -> None:
    settings.CKPTSITE_DATA = tmp_path
    tools = ModuleType("helpdesk.tools")
    with mock.patch.dict(registry._tools), mock.patch.dict(sys.modules, {"helpdesk.tools": tools}):
        exec(compile(block("helpdesk/tools.py"), "helpdesk/tools.py", "exec"), tools.__dict__)  # noqa: S102 the point of this test
        space: dict[str, Any] = {"__name__": "helpdesk.test_tools"}
        exec(compile(block("helpdesk/test_tools.py"), "helpdesk/test_tools.py", "exec"), space)  # noqa: S102 the same
        proofs: list[testing.Proof] = []
        space["test_answer_keeps_what_it_declares"](
            lambda *given, **more: proofs.append(testing.prove(*given, **more))
        )
    assert proofs[0].untrue == []
    assert proofs[0].kills > 3


@pytest.mark.parametrize("name", ["tools", "agents"])
def test_each_half_of_the_example_is_short(name: str) -> None:
    assert len([line for line in block(f"helpdesk/{name}.py").splitlines() if line.strip()]) <= 30


def test_every_file_that_the_readme_names_is_there() -> None:
    for path in re.findall(r"`((?:runs|tests|ckptsite|static|templates)/[\w./]*)`", README.read_text()):
        assert (README.parent / path).exists(), path
