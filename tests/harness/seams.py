"""The crash points that the source holds, and where one is missing: read from the code, so that none can be forgotten.

A point is named where it is reached, or by its caller: `committing("claim")` reaches `claim.before`, because
`committing` reaches `f"{point}.before"`. Every function that reaches names made from one of its parameters, or hands
that parameter on to such a function, is followed to its callers.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from tests import architecture

PLACES = ("runs",)
LINTED = ("runs/engine", "runs/transitions", "runs/hints.py")
OUTSIDE = frozenset({"lookup", "preview", "precondition", "verify", "undo", "complete"})
"""What a tool or provider does, whatever its variable is called; `run` is theirs only on a `tool`."""
SENDS = frozenset({"on_commit", "send_task", "publish"})
COMMITS = frozenset({"atomic", "commit"})

WITHIN = frozenset(
    {"runs/transitions/indexing.py", "runs/transitions/steps/advances.py", "runs/engine/verifier.py"}
)
"""Modules that commit nothing: their statements are part of their callers' transactions, which they check, or reads."""

Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass
class Maker:
    """A function that reaches points named after its parameter: where the parameter stands, and what is added."""

    parameter: str
    index: int
    suffixes: set[str] = field(default_factory=set)


@cache
def names(*places: str) -> tuple[str, ...]:
    """Return every point that the source can reach, sorted; read once, for the table is made of it at each start."""
    trees = [
        ast.parse(path.read_text(encoding="utf-8")) for path in architecture.modules(*(places or PLACES))
    ]
    return tuple(sorted(names_in(trees)))


def names_in(trees: list[ast.Module]) -> set[str]:
    """Return every point of these modules."""
    calls, functions = _read(trees)
    makers = _makers(functions)
    found: set[str] = set()
    for call in calls:
        text = _constant(call.args[0]) if _called(call) == "reach" and call.args else None
        if text is not None:
            found.add(text)
        maker = makers.get(_called(call))
        given = _constant(_argument(call, maker)) if maker is not None else None
        if maker is not None and given is not None:
            found |= {f"{given}{suffix}" for suffix in maker.suffixes}
    return found


def _read(trees: list[ast.Module]) -> tuple[list[ast.Call], list[tuple[Function, list[ast.Call]]]]:
    """Return every call, and every function with the calls inside it; one walk, for it takes seconds."""
    calls: list[ast.Call] = []
    functions: list[tuple[Function, list[ast.Call]]] = []
    waiting: list[tuple[ast.AST, tuple[list[ast.Call], ...]]] = [(tree, (calls,)) for tree in trees]
    while waiting:
        node, around = waiting.pop()
        if isinstance(node, ast.Call):
            for inside in around:
                inside.append(node)
        elif isinstance(node, Function):
            functions.append((node, []))
            around = (*around, functions[-1][1])
        for name in node._fields:
            value = getattr(node, name, None)
            parts = value if isinstance(value, list) else (value,)
            waiting += [(part, around) for part in parts if isinstance(part, ast.AST) and part._fields]
    return calls, functions


def _makers(functions: list[tuple[Function, list[ast.Call]]]) -> dict[str, Maker]:
    makers: dict[str, Maker] = {}
    before = -1
    while before != sum(len(maker.suffixes) for maker in makers.values()):
        before = sum(len(maker.suffixes) for maker in makers.values())
        for function, calls in functions:
            for call in calls:
                for parameter, suffixes in _reaches(call, makers):
                    index = _index(function, parameter)
                    if index is not None:
                        makers.setdefault(function.name, Maker(parameter, index)).suffixes.update(suffixes)
    return makers


def _reaches(call: ast.Call, makers: dict[str, Maker]) -> Iterator[tuple[str, set[str]]]:
    """Give the variable that this call makes a point's name from, with what is added to it."""
    if _called(call) == "reach" and call.args and isinstance(call.args[0], ast.JoinedStr):
        head, *rest = call.args[0].values
        if isinstance(head, ast.FormattedValue) and isinstance(head.value, ast.Name):
            yield head.value.id, {"".join(str(part.value) for part in rest if isinstance(part, ast.Constant))}
    maker = makers.get(_called(call))
    given = _argument(call, maker) if maker is not None else None
    if maker is not None and isinstance(given, ast.Name):
        yield given.id, set(maker.suffixes)


def _argument(call: ast.Call, maker: Maker | None) -> ast.expr | None:
    if maker is None:
        return None
    named = next((item.value for item in call.keywords if item.arg == maker.parameter), None)
    return named or (call.args[maker.index] if len(call.args) > maker.index else None)


def _index(function: Function, parameter: str) -> int | None:
    given = [item.arg for item in (*function.args.posonlyargs, *function.args.args)]
    if given[:1] in (["self"], ["cls"]):
        given = given[1:]
    if parameter in given:
        return given.index(parameter)
    return len(given) if parameter in [item.arg for item in function.args.kwonlyargs] else None


def _called(call: ast.Call) -> str:
    return call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")


def _constant(node: ast.expr | None) -> str | None:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None


def unguarded(*places: str) -> list[str]:
    """Return each commit, wake-up and call of a tool or provider that has no point on either side."""
    found = []
    for path in architecture.modules(*(places or LINTED)):
        name = str(Path(path).relative_to(architecture.ROOT))
        if name not in WITHIN:
            found += [f"{name}: {sentence}" for sentence in unguarded_in(path.read_text(encoding="utf-8"))]
    return found


def unguarded_in(source: str) -> list[str]:
    """Return what of this source has no point on either side."""
    tree = ast.parse(source)
    texts = _texts(tree)
    guarded = {id(node) for block in _blocks(tree) for node in _between(block)}
    waits = _handed_on(tree)
    return [
        f"line {node.lineno}: {_called(node)}() has no point on either side"
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and _must(node, texts)
        and id(node) not in guarded
        and id(node) not in waits
    ]


def _must(call: ast.Call, texts: dict[str, str]) -> bool:
    name = _called(call)
    if isinstance(call.func, ast.Attribute) and getattr(call.func.value, "id", "") == "hints":
        return False  # a wake-up of that name, which has its points where it is sent
    if name in OUTSIDE | SENDS and isinstance(call.func, ast.Attribute):
        return not (name == "on_commit" and _defers(call))
    if name == "run" and isinstance(call.func, ast.Attribute):
        return isinstance(call.func.value, ast.Name) and "tool" in call.func.value.id
    if name == "execute":
        given = call.args[0] if call.args else None
        text = texts.get(given.id, "") if isinstance(given, ast.Name) else _constant(given) or ""
        return architecture.WRITES_SQL.search(text) is not None
    # A commit that is told a name reaches the points of that name itself.
    return name in COMMITS and isinstance(call.func, ast.Attribute) and not (name == "commit" and call.args)


def _texts(tree: ast.Module) -> dict[str, str]:
    """Return the texts that this module gives names to."""
    return {
        target.id: node.value.value
        for node in tree.body
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant)
        for target in node.targets
        if isinstance(target, ast.Name) and isinstance(node.value.value, str)
    }


def _defers(call: ast.Call) -> bool:
    """Return whether `on_commit` only hands on to a function of this module, which is looked at itself."""
    given = call.args[0] if call.args else None
    return isinstance(given, ast.Lambda) and isinstance(given.body, ast.Call)


def _blocks(tree: ast.AST) -> Iterator[list[ast.stmt]]:
    for node in ast.walk(tree):
        for name in ("body", "orelse", "finalbody"):
            block = getattr(node, name, None)
            if isinstance(block, list) and block and isinstance(block[0], ast.stmt):
                yield block


def _between(block: list[ast.stmt]) -> Iterator[ast.AST]:
    """Give every node that stands between the first and the last point of a block."""
    at = [index for index, statement in enumerate(block) if _is_point(statement)]
    if len(at) > 1:
        for statement in block[at[0] + 1 : at[-1]]:
            yield from ast.walk(statement)


def _is_point(statement: ast.stmt) -> bool:
    return (
        isinstance(statement, ast.Expr)
        and isinstance(statement.value, ast.Call)
        and _called(statement.value) == "reach"
    )


def _handed_on(tree: ast.Module) -> set[int]:
    """Return the calls that wait in a lambda for a function of this module which calls it between two points."""
    functions = {node.name: node for node in ast.walk(tree) if isinstance(node, Function)}
    waits: set[int] = set()
    for call in (node for node in ast.walk(tree) if isinstance(node, ast.Call)):
        target = functions.get(_called(call))
        if target is None:
            continue
        given = [item.arg for item in (*target.args.posonlyargs, *target.args.args)]
        pairs = [*zip(given, call.args, strict=False), *((item.arg, item.value) for item in call.keywords)]
        for parameter, value in pairs:
            if isinstance(value, ast.Lambda) and parameter is not None and _calls_guarded(target, parameter):
                waits |= {id(node) for node in ast.walk(value.body) if isinstance(node, ast.Call)}
    return waits


def _calls_guarded(function: Function, parameter: str) -> bool:
    inside = {id(node) for block in _blocks(function) for node in _between(block)}
    calls = [node for node in ast.walk(function) if isinstance(node, ast.Call) and _called(node) == parameter]
    return bool(calls) and all(id(node) in inside for node in calls)
