"""The plan editor: the draft step by step, what is wrong with it, what saving it changes and what is left to do."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from runs import lifecycle, models, plan_changes, rights
from runs.models import paths
from runs.models import standing as standings
from runs.providers import registry as providers
from runs.selectors import deciding, now, plan_compare, plan_draft, plan_models, plan_rows, run_header, tools

WAITS = frozenset({lifecycle.Run.PAUSED, lifecycle.Run.WAITING})


def news(run: models.Run, base: int) -> str:
    """Return what has happened to the plan since this version of it was opened, in a sentence, or nothing."""
    if run.plan_version != base:
        newest = paths.plans(run).select_related("author").defer("steps").order_by("-version").first()
        who = newest.author.display() if newest is not None and newest.author is not None else "The agent"
        return f"{who} has saved version {run.plan_version} meanwhile; you change version {base}."
    return blocked(run)


def bound(run: models.Run) -> bool:
    """Return whether each step of the plan has to bind a tool, since no model reads it."""
    return providers.follows_plan(run.agent_version.provider)


def locked(run: models.Run) -> frozenset[str]:
    """Return the steps that have started or are over."""
    return frozenset(step.id for step in standings.of(run) if step.locked)


def current(run: models.Run, *, reason: str = "") -> plan_draft.Draft:
    """Return a draft of the plan as it stands."""
    steps = [step.definition for step in standings.of(run)]
    return plan_draft.of(steps, base=run.plan_version, reason=reason)


def rebased(run: models.Run, draft: plan_draft.Draft) -> plan_draft.Draft:
    """Return the draft's changes on top of the version as it is now."""
    seen = paths.plan(run, draft.base)
    newest = [step.definition for step in standings.of(run)]
    mine = plan_changes.merged(seen.steps if seen else newest, draft.steps or (), newest)
    return plan_draft.of(mine, base=run.plan_version, reason=draft.reason)


def page(
    run: models.Run,
    viewer: deciding.Viewer,
    draft: plan_draft.Draft | None = None,
    *,
    conflict: str = "",
) -> plan_models.EditorPage:
    """Return the editor with the plan as it stands, or with a draft and what is wrong with it."""
    stand = standings.of(run)
    whole = [step.definition for step in stand]
    mine = draft or plan_draft.of(whole, base=run.plan_version)
    seen = paths.plan(run, mine.base) if mine.base != run.plan_version else None
    base = list(seen.steps) if seen is not None else whole
    steps = list(mine.steps) if mine.steps is not None else whole
    losing = {
        step.id: str(step.definition["title"])
        for step in stand
        if step.call is not None and plan_changes.overtakes(step, stand, steps)
    }
    rows = _rows(run, steps, stand, base, mine, losing) if mine.steps is not None or draft is None else ()
    head = next((at for at, row in enumerate(rows) if not row.locked), len(rows))
    free = [row.id for row in rows if not row.locked] or [""]
    mine_of = plan_compare.comparison("What you change", base, steps)
    return plan_models.EditorPage(
        run_id=run.pk,
        title=run.title,
        sentence=_sentence(run),
        base=mine.base,
        rows=rows[head:],
        over=rows[:head],
        last=_last(rows),
        top=free[0],
        bottom=free[-1],
        losing=tuple(losing.values()),
        text=mine.text,
        reason=mine.reason,
        opened=mine.opened,
        said=mine.said,
        as_json=mine.as_json,
        estimate=estimate(run, steps, frozenset(step.id for step in stand if not step.ahead)),
        comparisons=(mine_of, *_against_agent(run, mine.base, steps)),
        changed=bool(mine_of.changes),
        errors=mine.errors,
        blocked=blocked(run),
        preparing=preparing(run),
        may_pause=viewer.may(rights.Act.PAUSE) and _goes_on(run),
        may_redrive=viewer.may(rights.Act.REDRIVE) and run.status in lifecycle.RUN_ENDED,
        conflict=conflict,
        theirs=plan_compare.comparison(f"What version {run.plan_version} changed", base, whole)
        if seen is not None
        else None,
        newest=run.plan_version,
    )


def preparing(run: models.Run) -> bool:
    """Return whether the run is on its way to rest, and its plan can be changed then."""
    held = run.hold_by_id is not None and run.stop_at is None
    return held and run.status in {lifecycle.Run.QUEUED, lifecycle.Run.RUNNING}


def blocked(run: models.Run) -> str:
    """Return why the plan can't be changed now, or nothing."""
    if run.status in lifecycle.RUN_ENDED:
        return "This run has ended; its plan is changed in a new attempt."
    if run.stop_at is not None:
        return "This run is being stopped; its plan can't be changed any more."
    if preparing(run):
        waits = run_header.waits(run)
        return waits or "It comes to rest in a moment; then its plan can be changed here."
    if run.plan_version == 0:
        return "There is no plan yet; the agent writes its steps before it starts on them."
    if run.status not in WAITS:
        return "The run goes on meanwhile. Pause it to change its plan."
    return ""


def estimate(run: models.Run, steps: Sequence[plan_changes.Step], closed: frozenset[str]) -> tuple[str, ...]:
    """Return in sentences what the open steps will need: calls, questions, and money where that is known."""
    ahead = [step["body"] for step in steps if step["id"] not in closed]
    if not ahead:
        return ("Nothing is left to do.",)
    risks = [tool.risk() if (tool := tools.find(str(body.get("tool") or ""))) else 0 for body in ahead]
    asked = sum(risk >= 2 for risk in risks)
    gates = sum(
        bool(body.get(plan_changes.GATE)) and risk < 2 for body, risk in zip(ahead, risks, strict=True)
    )
    loops = sum("each" in body for body in ahead)
    outside = _count(sum(risk > 0 for risk in risks), "of them reaches", "of them reach")
    found = [f"{_count(len(ahead), 'step is', 'steps are')} left, {outside} outside."]
    if asked or gates:
        parts = [f"{asked} by their tier" if asked else "", f"{gates} by a gate" if gates else ""]
        found.append(f"Somebody is asked before {' and '.join(part for part in parts if part)}.")
    if loops:
        found.append(
            f"{_count(loops, 'loop is', 'loops are')} not unfolded yet: the number of rows isn't known."
        )
    return (*found, _cost(run, len(ahead)))


def _cost(run: models.Run, ahead: int) -> str:
    if providers.follows_plan(run.agent_version.provider):
        return "No model is called, so the rest costs nothing but the tools' own prices."
    if not run.cost_known:
        return "What the rest costs isn't known: the model's price is unknown."
    if not run.steps or not run.cost_micro:
        return "What the rest costs isn't known yet."
    dollars = now.dollars(run.cost_micro * ahead // run.steps, known=True)
    return f"About ${dollars:.2f} at what a turn has cost so far."


def _rows(
    run: models.Run,
    steps: Sequence[plan_changes.Step],
    stand: list[plan_changes.Standing],
    base: Sequence[plan_changes.Step],
    draft: plan_draft.Draft,
    losing: Collection[str],
) -> tuple[plan_models.Row, ...]:
    version = run.agent_version
    known = {step.id: step for step in stand}
    changes = {change.id: change for change in plan_changes.between(base, steps)}
    closed = frozenset(step.id for step in stand if not step.ahead)
    doubts: dict[str, list[str]] = {}
    for doubt in providers.doubts(version.provider, version.definition, steps, before=base, closed=closed):
        doubts.setdefault(doubt.step, []).append(doubt.sentence)
    for step in steps:
        if step["id"] in changes and (said := _unfit(version, step)):
            doubts.setdefault(step["id"], []).append(said)
    return tuple(
        plan_rows.row(
            run,
            step,
            number,
            standing=known.get(step["id"]),
            change=changes.get(step["id"]),
            doubts=tuple(doubts.get(step["id"], ())),
            loses=step["id"] in losing,
            draft=draft,
        )
        for number, step in enumerate(steps, start=1)
    )


def _unfit(version: models.AgentVersion, step: plan_changes.Step) -> str:
    """Return why the provider couldn't carry out a changed step, or nothing."""
    try:
        providers.check_step(version.provider, step["body"], tuple(version.tools))
    except ValueError as error:
        said = str(error)
        return f"{said[:1].upper()}{said[1:]}"
    return ""


def _last(rows: Sequence[plan_models.Row]) -> str:
    """Return the step behind which a new one goes at the end: the last one, or the one before the run's end."""
    ids = [row.id for row in rows if not row.ends]
    return ids[-1] if ids else ""


def _against_agent(
    run: models.Run, base: int, steps: Sequence[plan_changes.Step]
) -> tuple[plan_models.Comparison, ...]:
    """Return the difference to the agent's own newest plan, where people have changed it since."""
    agents = paths.plans(run).filter(author=None, version__lte=base).order_by("-version").first()
    if agents is None or agents.version == base:
        return ()
    title = f"Against the agent's own plan, version {agents.version}"
    return (plan_compare.comparison(title, agents.steps, steps),)


def _goes_on(run: models.Run) -> bool:
    return run.status in {lifecycle.Run.QUEUED, lifecycle.Run.RUNNING} and run.hold_by_id is None


def _sentence(run: models.Run) -> str:
    if run.status == lifecycle.Run.PAUSED:
        return "The run is paused. What you save is what it goes on with once it is resumed."
    if run.status == lifecycle.Run.WAITING:
        return "The run waits for a person. What you save is what it goes on with."
    return ""


def _count(number: int, one: str, many: str) -> str:
    return f"{number} {one if number == 1 else many}"
