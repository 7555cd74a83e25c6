"""The rules that the source must keep, each as a function from a source text to sentences about what breaks it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
MAX_LINES = 300
STATUS_FIELDS = frozenset({"status", "state"})
STATUS_MODELS = frozenset({"Run", "Action", "Occurrence", "Review", "PlanStep"})
WRITERS = frozenset(
    {"create", "update", "get_or_create", "update_or_create", "acreate", "aupdate", "bulk_update"}
)
TRANSACTIONS = frozenset(
    {"atomic", "on_commit", "select_for_update", "set_autocommit", "savepoint", "commit", "rollback"}
)
WRITES_SQL = re.compile(
    r"\b(insert\s+into|update|delete\s+from|merge\s+into|truncate(\s+table)?|copy)\s+(only\s+)?\"?runs_\w+",
    re.IGNORECASE,
)


def modules(*folders: str, root: Path = ROOT) -> Iterator[Path]:
    """Every Python file below these folders, or the file itself; migrations are machine-made and left out."""
    for folder in folders:
        path = root / folder
        found = [path] if path.is_file() else sorted(path.rglob("*.py"))
        yield from (file for file in found if "migrations" not in file.parts)


def status_written(source: str) -> list[str]:
    """Where a status of a run, action, occurrence, review or plan step is written, by Python or by SQL."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Assign | ast.AugAssign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            found += [
                f"line {node.lineno}: .{name} is assigned"
                for target in targets
                for name in _attributes(target)
                if name in STATUS_FIELDS
            ]
        elif isinstance(node, ast.Call):
            found += _status_call(node)
        elif (text := _text(node)) and (match := WRITES_SQL.search(text)):
            found.append(f"line {node.lineno}: SQL writes ({match.group()})")  # type: ignore[attr-defined]
    return found


def actors_made(source: str) -> list[str]:
    """Where an Actor is made of somebody, in which session isn't said."""
    return [
        f"line {node.lineno}: an actor without a session"
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Call)
        and (getattr(node.func, "id", "") or getattr(node.func, "attr", "")) == "Actor"
        and not any(word.arg == "session" for word in node.keywords)
        and any(word.arg == "user" and ast.unparse(word.value) != "None" for word in node.keywords)
    ]


def _attributes(target: ast.expr) -> Iterator[str]:
    if isinstance(target, ast.Attribute):
        yield target.attr
    elif isinstance(target, ast.Tuple | ast.List):
        for item in target.elts:
            yield from _attributes(item)


def _status_call(node: ast.Call) -> list[str]:
    name = _called(node)
    named = {keyword.arg for keyword in node.keywords} | {
        key.value
        for keyword in node.keywords
        if keyword.arg in {"defaults", "create_defaults", None} and isinstance(keyword.value, ast.Dict)
        for key in keyword.value.keys
        if isinstance(key, ast.Constant)
    }
    literals = {item.value for item in ast.walk(node) if isinstance(item, ast.Constant)}
    of_model = (
        isinstance(node.func, ast.Attribute)
        and isinstance(node.func.value, ast.Name)
        and node.func.value.id == "models"
        and name in STATUS_MODELS
    )
    if (name in WRITERS or of_model) and named & STATUS_FIELDS:
        return [f"line {node.lineno}: {name}() writes it"]
    if name in {"setattr", "bulk_update"} and literals & STATUS_FIELDS:
        return [f"line {node.lineno}: {name}() writes it"]
    return []


def _called(node: ast.Call) -> str:
    if isinstance(node.func, ast.Attribute):
        return node.func.attr
    return node.func.id if isinstance(node.func, ast.Name) else ""


def _text(node: ast.AST) -> str:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(
            str(part.value) if isinstance(part, ast.Constant) else "runs_x" for part in node.values
        )
    return ""


def objects_touched(source: str) -> list[str]:
    """Where a view reaches past `access` and `selectors` for rows."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Attribute) and node.attr in {"objects", "_default_manager", "_base_manager"}:
            found.append(f"line {node.lineno}: .{node.attr}")
        elif isinstance(node, ast.ImportFrom):
            names = {alias.name for alias in node.names}
            found += [
                f"line {node.lineno}: imports {name}"
                for name in sorted(
                    names & {"get_object_or_404", "get_list_or_404", "connection", "connections"}
                )
            ]
    return found


def transactions_held(source: str) -> list[str]:
    """Where a transaction is opened, locked in, or waited for."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Attribute) and node.attr in TRANSACTIONS:
            found.append(f"line {node.lineno}: .{node.attr}")
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("django.db"):
            names = {alias.name for alias in node.names}
            found += [
                f"line {node.lineno}: imports {name}" for name in sorted(names & {"transaction", "atomic"})
            ]
    return found


TOOL_METHODS = frozenset({"run", "preview", "precondition", "lookup", "verify", "undo", "complete"})


def called_directly(source: str) -> list[str]:
    """Where a tool or provider is called other than through `outside`, which holds nothing meanwhile.

    Modules have functions of these names too, so what was imported is no tool.
    """
    tree = ast.parse(source)
    imported = {
        (alias.asname or alias.name).partition(".")[0]
        for node in ast.walk(tree)
        if isinstance(node, ast.Import | ast.ImportFrom)
        for alias in node.names
    }
    inside = {id(inner) for node in ast.walk(tree) if _goes_outside(node) for inner in ast.walk(node)}
    return [
        f"line {node.lineno}: .{node.func.attr}() is called here"
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in TOOL_METHODS
        and not (isinstance(node.func.value, ast.Name) and node.func.value.id in imported)
        and id(node) not in inside
    ]


def _goes_outside(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and isinstance(node.func.value, ast.Name)
        and node.func.value.id in {"outside", "looks"}
        and node.func.attr in {"act", "look", "start"}
    )


def session_locks(source: str) -> list[str]:
    """Where an advisory lock is taken that outlives its transaction."""
    return [
        f"line {number}: {found.group()}"
        for number, line in enumerate(source.splitlines(), start=1)
        if (found := re.search(r"\bpg_(try_)?advisory_lock\w*", line))
    ]


def keys_locked(source: str) -> list[str]:
    """Where rows are locked together with their keys, so that who only names them in a new row has to wait."""
    return [
        f"line {number}: {found.group()}"
        for number, line in enumerate(source.splitlines(), start=1)
        if (found := re.search(r"select_for_update\((?!\s*no_key=True)|\bFOR UPDATE\b", line))
    ]


def too_long(source: str) -> list[str]:
    """Whether a module is longer than one person reads at once."""
    lines = source.count("\n") + (not source.endswith("\n") and bool(source))
    return [f"{lines} lines; {MAX_LINES} are allowed"] if lines > MAX_LINES else []


def badly_named(names: Iterable[tuple[str, str]]) -> list[str]:
    """Which of these (model, constraint or index) names aren't `runs_<model>_<rule>`, or stand twice."""
    found, seen = [], set()
    for model, name in names:
        if not re.fullmatch(rf"runs_{re.escape(model.lower())}_[a-z0-9_]+", name):
            found.append(f"{name} of {model} isn't runs_{model.lower()}_<rule>")
        if name in seen:
            found.append(f"{name} stands twice")
        seen.add(name)
    return found
