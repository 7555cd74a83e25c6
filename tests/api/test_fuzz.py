"""The OpenAPI document is true: whatever it allows, and whatever it forbids, gets an answer that it names.

A few examples of each operation here; CKPTSITE_FUZZ=200 plays so many.
"""

from __future__ import annotations

import os
from typing import Any

import hypothesis
import pytest
import schemathesis
from hypothesis import HealthCheck, Phase
from hypothesis import strategies as st
from schemathesis import GenerationMode, checks
from schemathesis.core.result import Ok

from runs import models
from tests import factories
from tests.api.conftest import Give

pytestmark = pytest.mark.django_db(transaction=True)

EXAMPLES = int(os.environ.get("CKPTSITE_FUZZ", "3"))
ENDLESS = "stream_changes"
OPERATIONS = 14
"""All but the endless one."""


def test_every_operation_answers_as_its_description_says(
    who: factories.People, house: factories.House, give: Give, settings: Any
) -> None:
    """Right requests and wrong ones, made from the document, by somebody who may do everything that a token may."""
    from ckptsite import wsgi  # it looks for the collected files, which are there by now

    settings.CKPTSITE_API_RATE = 100_000
    program = give(who.admin)
    schema = schemathesis.openapi.from_wsgi("/api/v1/openapi.json", wsgi.application)
    held = [
        checks.not_a_server_error,
        checks.status_code_conformance,
        checks.content_type_conformance,
        checks.response_schema_conformance,
    ]
    headers = program.headers() | {"Accept-Encoding": "identity"}  # its transport unpacks nothing
    there = st.sampled_from([run.pk for run in house.runs])
    asked = st.sampled_from(list(models.Review.objects.values_list("pk", flat=True)))
    codes: dict[str, set[int]] = {}
    for found in schema.get_all_operations():
        assert isinstance(found, Ok)
        operation = found.ok()
        if operation.definition.raw["operationId"] == ENDLESS:
            continue
        modes = [mode for mode in GenerationMode if mode.is_positive or operation.query or operation.body]
        cases = st.one_of(*(operation.as_strategy(generation_mode=mode) for mode in modes))

        @hypothesis.settings(
            max_examples=EXAMPLES, deadline=None, database=None, phases=[Phase.generate],
            suppress_health_check=list(HealthCheck), derandomize=EXAMPLES < 50,
        )  # fmt: skip
        @hypothesis.given(case=cases, run=there, review=asked)
        def play(case: schemathesis.Case[Any], run: int, review: int) -> None:
            for name, number in {"run_id": run, "review_id": review}.items():
                if name in case.path_parameters and isinstance(case.path_parameters[name], int):
                    case.path_parameters[name] = number  # nearly no number is anything's
            response = case.call_and_validate(headers=headers, checks=held)
            codes.setdefault(case.operation.label, set()).add(response.status_code)

        play()
    assert len(codes) == OPERATIONS, codes
    assert {200, 422} <= set().union(*codes.values())
