"""Tools that read files which people gave to a run."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from typing import Any, Literal

import pydantic

from runs import exact
from runs.tools import contract, registry

MAX_SIZE = 5_000_000
MAX_ROWS = 5_000
MAX_RESULT = 900_000
MAX_BAD = 100

_DELIMITERS = {"comma": ",", "semicolon": ";", "tab": "\t"}


class ReadCsvArguments(contract.Arguments):
    """Which file, and what it must have."""

    file: contract.FileRef
    required: tuple[str, ...] = pydantic.Field(default=(), max_length=100)
    delimiter: Literal["auto", "comma", "semicolon", "tab"] = "auto"


@registry.register
class ReadCsv(contract.Tool):
    """Read a CSV file with a header line. Rows that don't fit it are handed back apart, never dropped."""

    name = "files.read_csv"
    title = "Read a CSV file"
    effect = contract.Effect.READ
    Arguments = ReadCsvArguments

    def run(self, args: ReadCsvArguments, ctx: contract.Context) -> contract.Receipt:
        """Return {"rows", "columns", "encoding", "bad_rows"}; each row has its columns and `_line`.

        Refuses (DidNotHappen, one sentence) a file that is empty, too large, not text or without a column.
        """
        path = args.file.path
        try:
            content = ctx.read(args.file)
        except FileNotFoundError as error:
            raise contract.DidNotHappen(f"The file {path!r} is not kept here.") from error
        text, encoding = _decoded(path, content)
        reader = csv.reader(
            io.StringIO(text, newline=""), delimiter=_delimiter(args.delimiter, text), strict=True
        )
        columns = _header(path, reader, args.required)
        rows, bad = _rows(path, reader, columns)
        value = {"rows": rows, "columns": columns, "encoding": encoding, "bad_rows": bad}
        if len(exact.canonical(value, limit=None)) > MAX_RESULT:
            raise contract.DidNotHappen(
                f"The file {path!r} holds more text than one step can keep; split it."
            )
        more = f", {len(bad)} could not be read" if bad else ""
        return contract.Receipt(summary=f"{len(rows)} rows read from {path} ({encoding}){more}.", value=value)


def _decoded(path: str, content: bytes) -> tuple[str, str]:
    """Return the text and the name of the encoding: UTF-8 where it fits, else Latin-1, which always does."""
    if not content.strip():
        raise contract.DidNotHappen(f"The file {path!r} is empty.")
    if len(content) > MAX_SIZE:
        raise contract.DidNotHappen(
            f"The file {path!r} has {len(content):,} bytes; the limit is {MAX_SIZE:,}."
        )
    if content.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise contract.DidNotHappen(f"The file {path!r} is in UTF-16; save it as UTF-8.")
    if b"\0" in content:
        raise contract.DidNotHappen(f"The file {path!r} is not a text file.")
    marked = content.startswith(b"\xef\xbb\xbf")
    try:
        return content.decode("utf-8-sig"), "UTF-8 with a byte order mark" if marked else "UTF-8"
    except UnicodeDecodeError:
        return content.decode("latin-1"), "Latin-1"


def _delimiter(wanted: str, text: str) -> str:
    if wanted != "auto":
        return _DELIMITERS[wanted]
    first = text.lstrip("\r\n").split("\n", 1)[0]
    return max(_DELIMITERS.values(), key=first.count)


def _lines(path: str, reader: Any) -> Iterator[tuple[int, list[str]]]:
    """Yield each row that isn't blank with the number of its first line."""
    while True:
        line = reader.line_num + 1
        try:
            fields = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            raise contract.DidNotHappen(
                f"The file {path!r} can't be read from line {line} on: {error}."
            ) from error
        if any(field.strip() for field in fields):
            yield line, fields


def _header(path: str, reader: Any, required: tuple[str, ...]) -> list[str]:
    first = next(_lines(path, reader), None)
    if first is None:
        raise contract.DidNotHappen(f"The file {path!r} is empty.")
    columns = [field.strip() for field in first[1]]
    for number, column in enumerate(columns, start=1):
        if not column or column == "_line":
            raise contract.DidNotHappen(f"Column {number} of {path!r} has no usable name: {column!r}.")
        if column in columns[: number - 1]:
            raise contract.DidNotHappen(f"The file {path!r} has two columns named {column!r}.")
    if missing := [column for column in required if column not in columns]:
        listed = ", ".join(columns[:20])
        raise contract.DidNotHappen(f"The file {path!r} has no column {missing[0]!r}; it has {listed}.")
    return columns


def _rows(path: str, reader: Any, columns: list[str]) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    rows: list[dict[str, Any]] = []
    bad: list[dict[str, Any]] = []
    for line, fields in _lines(path, reader):
        if len(rows) == MAX_ROWS:
            raise contract.DidNotHappen(f"The file {path!r} has more than {MAX_ROWS:,} rows; split it.")
        if len(fields) == len(columns):
            values = {name: field.strip() for name, field in zip(columns, fields, strict=True)}
            rows.append({"_line": line} | values)
            continue
        if len(bad) == MAX_BAD:
            raise contract.DidNotHappen(
                f"More than {MAX_BAD} rows of {path!r} don't fit its header; it is damaged."
            )
        reason = f"it has {len(fields)} values where the header has {len(columns)}"
        bad.append({"line": line, "reason": reason, "raw": ",".join(fields)[:500]})
    return rows, bad
