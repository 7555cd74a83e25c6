"""`sql.query` and `sql.execute`: one statement in a database that the administrator has named.

A change leaves a marker row under its key in the same transaction, so whether it stands can always be looked up.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import timedelta
from typing import Annotated, Any

import pydantic

from runs.tools import configured, contract, databases, registry, sql_rows
from runs.tools.databases import Database, Rows

SHOWN, MOST = 200, 5_000
LINES = 100
LEAST = 0.5  # seconds; with less left nothing new is begun
_TARGET = re.compile(
    r"""\s*(update(\s+only)?|delete\s+from(\s+only)?|insert\s+into)\s+(?P<table>"?\w+"?(\."?\w+"?)?)""",
    re.IGNORECASE,
)
_RETURNING = re.compile(r"\breturning\b", re.IGNORECASE)
Parameter = str | int | float | bool | None


class _Statement(contract.Arguments):
    connection: configured.Name
    statement: str = pydantic.Field(
        min_length=1, max_length=50_000,
        description="One statement. Parameters are $1, $2 in PostgreSQL and ?1, ?2 in SQLite.",
    )  # fmt: skip
    parameters: tuple[Parameter, ...] = pydantic.Field(default=(), max_length=200)


class QueryArguments(_Statement):
    """What is asked of which database."""


class ExecuteArguments(_Statement):
    """What is changed in which database."""

    rows: int | None = pydantic.Field(
        default=None, ge=0, description="How many rows it must change; otherwise nothing is changed."
    )
    reference: Annotated[str, pydantic.Field(min_length=1, max_length=120, pattern=r"^\S(.*\S)?$")] = (
        pydantic.Field(description="Which change this is: two with the same reference are the same one.")
    )


def _known(name: str) -> configured.Connection:
    found = configured.tools().sql.get(name)
    if found is None:
        raise contract.DidNotHappen(f"No database {name!r} is configured; an administrator can add it.")
    return found


class Query(contract.Tool):
    """Ask a database, in a transaction that can't write. Up to 5,000 rows; beyond 200 they come as a CSV file."""

    name = "sql.query"
    title = "Ask a database"
    effect = contract.Effect.READ
    timeout = timedelta(seconds=30)
    Arguments = QueryArguments

    def run(self, args: QueryArguments, ctx: contract.Context) -> contract.Receipt:
        """Return {"columns", "rows", "cut", "file"}. Refuses DidNotHappen what the database doesn't answer."""
        known = _known(args.connection)
        password = configured.value(known.password, ctx)
        try:
            databases.check(args.statement, databases.READS)
            with databases.opened(known.url, password, seconds=ctx.remaining()) as database:
                found = database.run(args.statement, args.parameters, most=MOST)
        except databases.Refused as error:
            raise contract.DidNotHappen(str(error)) from error
        except databases.Errors as error:
            raise contract.DidNotHappen(f"The database refused it: {databases.said(error)}") from error
        value: dict[str, Any] = {"columns": list(found.columns), "rows": [list(row) for row in found.rows[:SHOWN]],
                                 "cut": found.cut, "file": None}  # fmt: skip
        if len(found.rows) > SHOWN:
            value["file"] = ctx.attach("rows.csv", sql_rows.as_csv(found)).model_dump()
        more = " or more" if found.cut else ""
        return contract.Receipt(summary=f"{len(found.rows)}{more} rows from {args.connection}.", value=value)


class Execute(contract.Tool):
    """Change rows of a database by one statement, in one transaction. What it changed can't be put back by itself."""

    name = "sql.execute"
    title = "Change rows of a database"
    effect = contract.Effect.IRREVERSIBLE
    tier = 3
    protection = contract.Protection.LOOKUP
    timeout = timedelta(seconds=30)
    settle = timedelta(seconds=30)  # a commit that is on its way when its process dies
    identity = ("connection", "reference")
    decisive = ("reference", "statement", "parameters")
    Arguments = ExecuteArguments

    def run(self, args: ExecuteArguments, ctx: contract.Context) -> contract.Receipt:
        """Return how many rows it changed. Refuses DidNotHappen everything that fails before the commit."""
        known = _writable(args)
        password = configured.value(known.write_password, ctx)
        if ctx.remaining() < LEAST:
            raise contract.DidNotHappen("The time was over before the database was asked.", retryable=True)
        try:
            databases.check(args.statement, databases.WRITES)
            with databases.opened(known.write_url, password, seconds=ctx.remaining(), write=True) as database:
                database.marking(ctx.idempotency_key)
                found = database.run(args.statement, args.parameters, most=SHOWN)
                self._allowed(args, ctx, database, found)
                _commit(database)
        except (databases.Refused, databases.Unmarked) as error:
            raise contract.DidNotHappen(str(error)) from error
        except databases.Errors as error:
            reason = f"The database refused it: {databases.said(error)}"
            raise contract.DidNotHappen(reason, retryable=databases.again(error)) from error
        return _receipt(args, found.affected, found)

    def _allowed(
        self, args: ExecuteArguments, ctx: contract.Context, database: Database, found: Rows
    ) -> None:
        if args.rows is not None and found.affected != args.rows:
            raise databases.Refused(
                f"It would change {found.affected} rows, not {args.rows}; nothing was changed."
            )
        if not database.marked(ctx.idempotency_key, found.affected, ""):
            raise databases.Refused("The statement took its own marker away; nothing was changed.")
        if ctx.remaining() < LEAST:
            raise contract.DidNotHappen("The time was over before it was committed.", retryable=True)

    def lookup(
        self, args: ExecuteArguments, keys: Sequence[str], ctx: contract.Context
    ) -> contract.Receipt | None:
        """Return the receipt if a marker stands under one of the keys."""
        known = _writable(args)
        password = configured.value(known.write_password, ctx)
        with databases.opened(known.write_url, password, seconds=ctx.remaining()) as database:
            found = database.found(keys)
        return None if found is None else _receipt(args, found[0], None)

    def preview(self, args: ExecuteArguments, ctx: contract.Context) -> contract.Preview:
        """Return how the database would do it, and, where that may be tried, which rows change and how."""
        known = _writable(args)
        tried = self._tried(args, ctx) if known.rehearse else None
        facts = [("Database", args.connection), ("Reference", args.reference), ("Statement", args.statement)]
        facts += [
            (f"Parameter {number}", str(value)) for number, value in enumerate(args.parameters, start=1)
        ]
        if args.rows is not None:
            facts.append(("Must change", f"{args.rows} rows"))
        warnings = []
        if tried is not None:
            facts.append(("Would change now", f"{tried[0]} rows"))
        elif args.rows is None:
            warnings.append("How many rows it changes is known only when it is done.")
        return contract.Preview(
            summary=f"Change rows in {args.connection}: {' '.join(args.statement.split())[:120]}",
            target=args.connection,
            facts=tuple(facts),
            reversal="ckptsite can't take it back.",
            body=tried[1] if tried is not None else self._explained(args, ctx),
            warnings=tuple(warnings),
        )

    def precondition(self, args: ExecuteArguments, ctx: contract.Context) -> Mapping[str, Any] | None:
        """Return what it would change now, where that may be tried: the decision rests on it."""
        if not _writable(args).rehearse:
            return None
        affected, shown = self._tried(args, ctx)
        return {"rows": affected, "changes": hashlib.sha256(shown.encode()).hexdigest()}

    def _explained(self, args: ExecuteArguments, ctx: contract.Context) -> str:
        known = _writable(args)
        databases.check(args.statement, databases.WRITES)
        password = configured.value(known.write_password, ctx)
        with databases.opened(known.write_url, password, seconds=ctx.remaining()) as database:
            return database.explain(args.statement, args.parameters)

    def _tried(self, args: ExecuteArguments, ctx: contract.Context) -> tuple[int, str]:
        """Do it, look, and take it back; return how many rows it changed, and which, line by line."""
        known = _writable(args)
        databases.check(args.statement, databases.WRITES)
        password = configured.value(known.write_password, ctx)
        with databases.opened(known.write_url, password, seconds=ctx.remaining(), write=True) as database:
            returning = args.statement.rstrip().rstrip(";")
            target = _TARGET.match(args.statement)
            told = target is not None and not _RETURNING.search(args.statement)
            found = database.run(
                f"{returning} RETURNING *" if told else returning, args.parameters, most=LINES
            )
            database.back()
            return found.affected, "\n".join(_changes(database, target, found)) if target and told else ""


def _writable(args: ExecuteArguments) -> configured.Connection:
    known = _known(args.connection)
    if not known.write_url:
        raise contract.DidNotHappen(
            f"The database {args.connection!r} may not be changed; it has no write_url."
        )
    return known


class _Unknown(RuntimeError):
    """Nobody knows whether the commit took place."""


def _commit(database: Database) -> None:
    """Commit. What proves that nothing was committed is raised as it is, everything else as unknown."""
    try:
        database.commit()
    except Exception as error:
        if database.undone_by(error):
            raise
        raise _Unknown(f"the answer to the commit was lost: {databases.said(error)}") from error


def _receipt(args: ExecuteArguments, affected: int, found: Rows | None) -> contract.Receipt:
    value: dict[str, Any] = {"affected": affected}
    if found is not None and found.columns:
        value |= {"columns": list(found.columns), "rows": [list(row) for row in found.rows], "cut": found.cut}
    return contract.Receipt(summary=f"{affected} rows changed in {args.connection}.", value=value)


def _changes(database: Database, target: re.Match[str], found: Rows) -> Iterator[str]:
    """Yield what was taken away, added or changed, row by row; `found` are the rows that the statement gave back."""
    kind, table = target[1].split()[0].lower(), target["table"]
    if kind == "update":
        yield from _updated(database, table, found)
    else:
        sign = "-" if kind == "delete" else "+"
        yield from (f"{sign} {_line(found.columns, row)}" for row in found.rows)
    if found.cut:
        yield f"… and {found.affected - len(found.rows)} more."


def _updated(database: Database, table: str, found: Rows) -> Iterator[str]:
    keys = database.keys_of(table)
    places = [found.columns.index(key.strip('"')) for key in keys if key.strip('"') in found.columns]
    for row in found.rows:
        before: tuple[Any, ...] | None = None
        if keys and len(places) == len(keys):
            where = " AND ".join(f"{key} = {database.placeholder(n)}" for n, key in enumerate(keys, start=1))
            select = f"SELECT * FROM {table} WHERE {where}"  # noqa: S608 - a plain name, and names of the catalogue
            old = database.run(select, [row[place] for place in places], most=1)
            before = old.rows[0] if old.rows else None
        if before is not None:
            yield f"- {_line(found.columns, before)}"
        yield f"+ {_line(found.columns, row)}"


def _line(columns: Sequence[str], row: Sequence[Any]) -> str:
    return ", ".join(f"{column}={value!r}" for column, value in zip(columns, row, strict=True))


def _offer() -> None:
    known = configured.tools().sql.values()
    registry.offer(Query, on=bool(known), how="Name a database, as in [sql.books] url.")
    writes = any(one.write_url for one in known)
    registry.offer(Execute, on=writes, how="Give a database a write_url, as in [sql.books].")


_offer()
