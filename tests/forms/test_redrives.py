"""The form to go on from a checkpoint: what counts as typed otherwise."""

from __future__ import annotations

from runs.forms import redrives
from runs.selectors import redrive_models

SHOWN = '{\n  "name": "Dear  Ann",\n  "sum": 7\n}'


def read(text: str) -> object:
    call = redrive_models.OpenCall(
        name="call.3-0", title="", tool="", text=text, shown=SHOWN, failed=False, fields=()
    )
    return redrives.read({"reason": "because", "call.3-0": text}, [call]).arguments


def test_a_space_within_a_text_counts_and_one_between_the_parts_does_not() -> None:
    assert read(SHOWN) == read(SHOWN.replace("\n", "\r\n")) == read('{"sum":7,"name":"Dear  Ann"}') == {}
    assert read(SHOWN.replace("  Ann", " Ann")) == {(3, 0): {"name": "Dear Ann", "sum": 7}}
    assert read(SHOWN.replace("7", "7.0")) == {(3, 0): {"name": "Dear  Ann", "sum": 7.0}}
