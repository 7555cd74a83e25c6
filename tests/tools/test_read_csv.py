"""`files.read_csv`: what can't be read is one clear sentence, what doesn't fit is handed back."""

from typing import Any

import pytest

from runs.tools import contract, files, registry
from tests.tools.call import Call


def read(content: bytes, **options: Any) -> contract.Receipt:
    tool, call = registry.get("files.read_csv"), Call()
    return tool.run(tool.parse({"file": call.keep(content), **options}), call)


def refusal(content: bytes, **options: Any) -> str:
    with pytest.raises(contract.DidNotHappen) as caught:
        read(content, **options)
    assert not caught.value.retryable
    assert caught.value.reason.endswith(".")
    assert "\n" not in caught.value.reason
    return caught.value.reason


def test_rows_with_their_lines() -> None:
    receipt = read(b'no,name\n1,"Two\nlines"\n\n2, Ada \n')
    assert receipt.value == {
        "rows": [{"_line": 2, "no": "1", "name": "Two\nlines"}, {"_line": 5, "no": "2", "name": "Ada"}],
        "columns": ["no", "name"],
        "encoding": "UTF-8",
        "bad_rows": [],
    }
    assert receipt.summary == "2 rows read from open.csv (UTF-8)."


@pytest.mark.parametrize(
    ("content", "encoding", "name"),
    [
        ("name\nZoë\n".encode(), "UTF-8", "Zoë"),
        ("\ufeffname\nZoë\n".encode(), "UTF-8 with a byte order mark", "Zoë"),
        ("name\nMüller\n".encode("latin-1"), "Latin-1", "Müller"),
        (b"name\r\nAda\r\n", "UTF-8", "Ada"),
    ],
)
def test_the_encoding_is_found_and_said(content: bytes, encoding: str, name: str) -> None:
    receipt = read(content, required=["name"])
    assert receipt.value["rows"][0]["name"] == name
    assert receipt.value["encoding"] == encoding
    assert encoding in receipt.summary


@pytest.mark.parametrize("mark", [",", ";", "\t"])
def test_the_separator_is_found(mark: str) -> None:
    row = read(mark.join(["a", "b"]).encode() + b"\n" + mark.join(["1", "2"]).encode()).value["rows"][0]
    assert row == {"_line": 2, "a": "1", "b": "2"}


def test_a_separator_that_was_named_is_used() -> None:
    assert read(b"a;b,c\n1,2\n", delimiter="comma").value["columns"] == ["a;b", "c"]


def test_rows_that_do_not_fit_are_handed_back() -> None:
    receipt = read(b"a,b\n1\n1,2\n1,2,3\n")
    assert [row["_line"] for row in receipt.value["rows"]] == [3]
    assert receipt.value["bad_rows"] == [
        {"line": 2, "reason": "it has 1 values where the header has 2", "raw": "1"},
        {"line": 4, "reason": "it has 3 values where the header has 2", "raw": "1,2,3"},
    ]
    assert "2 could not be read" in receipt.summary


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "is empty"),
        (b"\xef\xbb\xbf", "is empty"),
        (b" \n\n", "is empty"),
        (b" , \n,\n", "is empty"),
        (b"a,b\0\n", "not a text file"),
        ("a,b\n".encode("utf-16"), "save it as UTF-8"),
        (b"a,b\n1,2\n", "no column 'amount'; it has a, b."),
        (b"amount,b,amount\n", "two columns named 'amount'"),
        (b"amount,,c\n", "Column 2 of 'open.csv' has no usable name"),
        (b'amount,b\n"open', "can't be read from line 2 on"),
        (b"amount\n" + b"x" * files.MAX_SIZE, "the limit is 5,000,000"),
        (b"amount\n" + b"1\n" * (files.MAX_ROWS + 1), "more than 5,000 rows"),
        (b"amount\n" + b"1,2\n" * (files.MAX_BAD + 1), "it is damaged"),
        (b"amount\n" + (b"x" * 1000 + b"\n") * 1000, "more text than one step can keep"),
    ],
)
def test_a_file_that_cannot_be_used_is_refused_in_one_sentence(content: bytes, words: str) -> None:
    assert words in refusal(content, required=["amount"])


def test_a_header_alone_is_a_file_without_rows() -> None:
    assert read(b"amount\n", required=["amount"]).value["rows"] == []


def test_bytes_that_are_not_kept() -> None:
    tool = registry.get("files.read_csv")
    args = tool.parse({"file": {"path": "gone.csv", "sha256": "0" * 64}})
    with pytest.raises(contract.DidNotHappen, match=r"The file 'gone\.csv' is not kept here\."):
        tool.run(args, Call())
