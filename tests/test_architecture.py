"""The rules of the source hold, and each of them catches what breaks it."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest
from django.apps import apps
from django.contrib import admin
from django.db.migrations import autodetector, loader, state
from django.http import HttpRequest

from runs import models
from tests import architecture

Rule = Callable[[str], list[str]]


def broken(rule: Rule, *folders: str, but: str = "") -> list[str]:
    """Every violation of the rule, with the file that it is in."""
    return [
        f"{path.relative_to(architecture.ROOT)}: {sentence}"
        for path in architecture.modules(*folders)
        if not (but and path.is_relative_to(architecture.ROOT / but))
        for sentence in rule(path.read_text(encoding="utf-8"))
    ]


def test_only_transitions_write_a_status() -> None:
    assert broken(architecture.status_written, "runs", "ckptsite", but="runs/transitions") == []


@pytest.mark.parametrize(
    "source",
    [
        "run.status = 'queued'",
        "a, (run.status, b) = 1, (2, 3)",
        "row.state: str = 'void'",
        "Run.objects.filter(pk=1).update(status='failed')",
        "models.PlanStep.objects.create(run=run, state='done')",
        "Run.objects.update_or_create(pk=1, defaults={'status': 'failed'})",
        "Run.objects.update(**{'status': 'failed'})",
        "models.Action(run=run, status='approved').save()",
        "Run.objects.bulk_update(rows, ['reason', 'status'])",
        "setattr(run, 'status', 'failed')",
        "cursor.execute('UPDATE runs_run SET fence = 1')",
        "cursor.execute(f'insert  into {table} values (1)')",
        "sql = 'with x as (select 1)\\ndelete from \"runs_entry\"'",
    ],
)
def test_a_status_written_elsewhere_is_found(source: str) -> None:
    assert architecture.status_written(source) != []


@pytest.mark.parametrize(
    "source",
    ["if run.status == 'queued': pass", "Run.objects.filter(status='queued')", "'SELECT 1 FROM runs_run'"],
)
def test_reading_a_status_is_allowed(source: str) -> None:
    assert architecture.status_written(source) == []


def test_views_never_touch_objects() -> None:
    assert broken(architecture.objects_touched, "runs/views", "runs/api") == []


@pytest.mark.parametrize(
    "source",
    [
        "run = models.Run.objects.get(pk=1)",
        "Run._default_manager.all()",
        "from django.shortcuts import get_object_or_404",
        "from django.db import connection",
    ],
)
def test_a_view_that_touches_objects_is_found(source: str) -> None:
    assert architecture.objects_touched(source) != []


def test_who_acts_at_a_page_does_so_in_a_session() -> None:
    """Else nobody would be asked who they are before what is final. The rest only note, or are no page."""
    found = broken(architecture.actors_made, "runs/views")
    assert [line.partition(":")[0] for line in found] == [
        "runs/views/adapters.py",  # has signed in just now
        "runs/views/sign_in.py",  # signs out
        "runs/views/slack.py",  # a message, which decides nothing final
        "runs/views/turned_away.py",  # notes a refusal
    ]
    assert architecture.actors_made("Actor(user=None)") == []


def test_views_tasks_and_commands_hold_no_transaction() -> None:
    places = ("runs/views", "runs/api", "runs/tasks.py", "runs/management", "runs/demo/management")
    assert broken(architecture.transactions_held, *places) == []


@pytest.mark.parametrize(
    "source",
    [
        "from django.db import transaction",
        "with db.transaction.atomic(): pass",
        "rows.select_for_update()",
        "connection.commit()",
    ],
)
def test_a_transaction_in_a_view_is_found(source: str) -> None:
    assert architecture.transactions_held(source) != []


def test_models_and_tools_are_called_through_one_door() -> None:
    places = ("engine", "transitions", "selectors", "views", "forms", "tasks.py", "hints.py")
    door = "runs/engine/outside.py"
    found = broken(architecture.called_directly, *(f"runs/{place}" for place in places), but=door)
    assert found == []
    assert architecture.called_directly("from runs.engine import tool\ntool.run(1)") == []
    assert architecture.called_directly("outside.act(lambda: tool.run(args, ctx), within=1)") == []


@pytest.mark.parametrize(
    "source",
    ["tool.run(args, ctx)", "registry.get(name).lookup(args, [], ctx)", "x = provider.complete(request)"],
)
def test_a_tool_called_elsewhere_is_found(source: str) -> None:
    assert architecture.called_directly(source) != []


def test_no_advisory_lock_outlives_its_transaction() -> None:
    assert broken(architecture.session_locks, "runs", "ckptsite") == []
    assert architecture.session_locks("SELECT pg_advisory_lock(1)") != []
    assert architecture.session_locks("SELECT pg_try_advisory_xact_lock(1)") == []


def test_no_module_is_over_300_lines() -> None:
    assert broken(architecture.too_long, "ckptsite", "runs", "tests") == []
    assert architecture.too_long("x = 1\n" * 300) == []
    assert architecture.too_long("x = 1\n" * 301) != []


def names() -> list[tuple[str, str]]:
    """Every named constraint and index of our models."""
    return [
        (model._meta.model_name or "", item.name)
        for model in apps.get_app_config("runs").get_models()
        for item in (*model._meta.constraints, *model._meta.indexes)
    ]


def test_constraints_and_indexes_say_whose_rule_they_are() -> None:
    assert len(names()) > 20
    assert architecture.badly_named(names()) == []
    assert architecture.badly_named([("run", "runs_entry_status")]) != []
    assert architecture.badly_named([("run", "run_status")]) != []
    assert architecture.badly_named([("run", "runs_run_status"), ("run", "runs_run_status")]) != []


def unmigrated(wanted: state.ProjectState) -> list[str]:
    """What a new migration would do to reach `wanted` from the files."""
    files = loader.MigrationLoader(None)
    found = autodetector.MigrationAutodetector(files.project_state(), wanted).changes(graph=files.graph)
    return [
        f"{app}: {operation.describe()}"
        for app, migrations in found.items()
        for migration in migrations
        for operation in migration.operations
    ]


def test_migrations_are_in_step_with_the_models() -> None:
    assert unmigrated(state.ProjectState.from_apps(apps)) == []


def test_a_missing_migration_is_found() -> None:
    wanted = state.ProjectState.from_apps(apps)
    wanted.models["runs", "run"].fields.pop("summary")
    assert unmigrated(wanted) == ["runs: Remove field summary from run"]


def editable(kind: admin.ModelAdmin[models.Run], request: HttpRequest) -> list[str]:
    """What this admin page lets even an administrator do to rows."""
    allowed = {
        "add": kind.has_add_permission(request),
        "change": kind.has_change_permission(request),
        "delete": kind.has_delete_permission(request),
    }
    return [f"{kind.model.__name__}: {name}" for name, yes in allowed.items() if yes]


@pytest.mark.django_db
def test_the_admin_only_shows_what_runs_are() -> None:
    request = HttpRequest()
    request.user = models.User(username="root", is_staff=True, is_superuser=True, is_active=True)
    pages = {
        model: page
        for model, page in admin.site._registry.items()
        if model._meta.app_label == "runs" and model is not models.User
    }
    assert {models.Run, models.Entry, models.Action, models.Review, models.AuditEvent} <= pages.keys()
    assert [line for page in pages.values() for line in editable(page, request)] == []
    assert all(not page.get_actions(request) for page in pages.values())
    assert editable(admin.ModelAdmin(models.Run, admin.site), request) != []


def lint_imports(folder: Path) -> subprocess.CompletedProcess[str]:
    """Run the import contracts of the project in `folder`."""
    return subprocess.run(
        [str(Path(sys.executable).with_name("lint-imports")), "--config", "pyproject.toml", "--no-cache"],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(folder)},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


def test_imports_point_downwards() -> None:
    found = lint_imports(architecture.ROOT)
    assert found.returncode == 0, found.stdout + found.stderr


@pytest.mark.parametrize(
    ("importer", "imported"),
    [
        ("exact", "models"),
        ("models", "transitions"),
        ("transitions", "engine"),
        ("views", "tasks"),
        ("selectors", "transitions"),
    ],
)
def test_an_import_that_points_upwards_is_found(tmp_path: Path, importer: str, imported: str) -> None:
    """The same contracts, on a small tree with one bad import."""
    contracts = (architecture.ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert "importlinter" in tomllib.loads(contracts)["tool"]
    (tmp_path / "pyproject.toml").write_text(contracts, encoding="utf-8")
    for package in ("ckptsite", "runs"):
        (tmp_path / package).mkdir()
        (tmp_path / package / "__init__.py").touch()
    for name in ("exact", "models", "transitions", "engine", "views", "tasks", "selectors"):
        (tmp_path / "runs" / f"{name}.py").touch()
    assert lint_imports(tmp_path).returncode == 0
    (tmp_path / "runs" / f"{importer}.py").write_text(f"from runs import {imported}\n", encoding="utf-8")
    found = lint_imports(tmp_path)
    assert found.returncode == 1
    assert f"runs.{importer}" in found.stdout


def test_5_3_no_row_is_locked_with_its_key() -> None:
    """A lock on the key too stops everybody who only names the row, whatever they hold."""
    assert broken(architecture.keys_locked, "runs") == []
    for source in (
        "rows.select_for_update()",
        "x = 'SELECT 1 FOR UPDATE'",
        "rows.select_for_update(nowait=True)",
    ):
        assert architecture.keys_locked(source) != []
    assert architecture.keys_locked("rows.select_for_update(no_key=True)\nx = 'FOR NO KEY UPDATE'") == []
