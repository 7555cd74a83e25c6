"""The figures on what came after: regret, gates that stop nothing, edits, runs that ended, cost, and the people."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from runs import lifecycle
from runs.selectors import intervals, metrics_figures, metrics_parts, metrics_words, plots
from runs.selectors.metrics_data import Data
from runs.selectors.metrics_models import Figure

APPROVE = "approve"
_RUN_ENDS = (
    (lifecycle.Run.SUCCEEDED, "Done", "plot-good"),
    (lifecycle.Run.FAILED, "Failed", "plot-bad"),
    (lifecycle.Run.CANCELLED, "Stopped", "plot-quiet"),
)


def later(data: Data) -> Figure:
    """What became of what people had approved, and of runs that went on from a checkpoint."""
    approvals = sum(row.verdict == APPROVE for row in data.answers)
    twice = _twice(data)
    again = [row for row in data.ended if row.redriven]
    counts = {
        "Regretted": (sum(row.undone or row.behind for row in data.done), len(data.done)),
        "Undone": (sum(row.undone for row in data.done), len(data.done)),
        "Withdrawn in time": (min(data.withdrawn, approvals), approvals),
        "Released alone": (min(data.alone, approvals), approvals),
        "Reviewers differ": (sum(len(verdicts) > 1 for verdicts in twice), len(twice)),
        "Going on worked": (sum(row.status == lifecycle.Run.SUCCEEDED for row in again), len(again)),
    }
    known = {name: count for name, count in counts.items() if count[1]}
    name, title = "later", "What became of it"
    note = (
        "Regretted: approved and done, and then undone, or gone back behind by a later attempt. Undone: the same,"
        " without those attempts. Withdrawn in time: approvals that were taken back before anything started."
        " Released alone: by break-glass, without the other person that it needed. Reviewers"
        " differ: where two or more had to decide. Going on worked: attempts from a checkpoint that ended well."
    )
    if not known:
        return metrics_parts.nothing(name, title, note)
    hits, n = counts["Regretted"]
    regret = metrics_words.share(intervals.share(hits, n))
    sentence = (
        f"{hits:,} of {metrics_words.of(n, 'approved effect')} were regretted: {regret[0]} ({regret[1]})."
        if n
        else "No approved effect was carried out in these days."
    )
    return metrics_parts.shares(name, title, sentence, "What", known, look="plot-ask", note=note)


def _twice(data: Data) -> list[set[str]]:
    """Return what was said of each question that two or more people decided at one revision."""
    said: dict[tuple[int, int], dict[int, str]] = {}
    for row in data.answers:
        if row.quorum > 1:
            said.setdefault((row.question, row.revision), {})[row.person] = row.verdict
    return [set(verdicts.values()) for verdicts in said.values() if len(verdicts) > 1]


def gates(data: Data) -> Figure:
    """How often each rule's questions weren't simply approved: what a gate is good for."""
    name, title = "gates", "What each rule's gate stopped"
    by_rule: dict[str, Counter[bool]] = {}
    for row in data.questions:
        end = metrics_figures.ended_as(row)
        if end:
            by_rule.setdefault(row.rule or "No rule", Counter())[end != "approved"] += 1
    if not by_rule:
        return metrics_parts.nothing(name, title)
    stopped, asked = sum(c[True] for c in by_rule.values()), sum(c.total() for c in by_rule.values())
    idle = sum(not c[True] for c in by_rule.values())
    return metrics_parts.shares(
        name,
        title,
        f"{stopped:,} of {metrics_words.of(asked, 'question')} weren't approved as they were asked;"
        f" {metrics_words.of(idle, 'rule')} stopped nothing.",
        "Rule",
        {rule: (count[True], count.total()) for rule, count in by_rule.items()},
        look="plot-ask",
        note="Rejected, changed, answered otherwise or expired, of the questions that a rule has asked.",
    )


def edits(data: Data) -> Figure:
    """Which arguments people keep putting right."""
    name, title = "edits", "Arguments that people changed"
    if not data.fields:
        return metrics_parts.nothing(name, title)
    ordered = sorted(data.fields.items(), key=lambda item: (-item[1], item[0]))
    return metrics_parts.shares(
        name,
        title,
        f"In {metrics_words.of(data.edits, 'edit')} the argument changed most often was “{ordered[0][0]}”.",
        "Argument",
        {field: (count, data.edits) for field, count in ordered},
        look="plot-busy",
        note="The share of the edits that changed this argument; one edit may change several.",
    )


def ended(data: Data) -> Figure:
    """How many runs ended, and how."""
    name, title = "runs", "Runs that ended"
    if not data.ended:
        return metrics_parts.nothing(name, title)
    by_end = {
        status: metrics_parts.split(data.span, [(row.at, 1.0) for row in data.ended if row.status == status])
        for status, _, _ in _RUN_ENDS
    }
    days = [day for day, _ in by_end[lifecycle.Run.SUCCEEDED]]
    counts = [
        tuple(len(by_end[status][place][1]) for status, _, _ in _RUN_ENDS) for place in range(len(days))
    ]
    failed = sum(row.status == lifecycle.Run.FAILED for row in data.ended)
    whole = metrics_words.share(intervals.share(failed, len(data.ended)))
    return Figure(
        name=name,
        title=title,
        sentence=f"{failed:,} of {metrics_words.of(len(data.ended), 'run')} failed: {whole[0]} ({whole[1]}).",
        columns=("Ended", "n", *(words for _, words, _ in _RUN_ENDS), "Failed, share", "95 % interval"),
        rows=tuple(
            (
                day,
                str(sum(count)),
                *map(str, count),
                *metrics_words.share(intervals.share(count[1], sum(count))),
            )
            for day, count in zip(days, counts, strict=True)
            if sum(count)
        ),
        plot=plots.columns(
            [
                plots.Bar(name=day, parts=tuple(float(one) for one in count))
                for day, count in zip(days, counts, strict=True)
            ],
            looks=[look for _, _, look in _RUN_ENDS],
            unit="",
            legend=[words for _, words, _ in _RUN_ENDS],
        ),
    )


def cost(data: Data) -> Figure:
    """What the runs that ended have cost, as far as prices are known."""
    name, title = "cost", "Cost of the runs that ended"
    known = [(row.at, row.cost / 1_000_000) for row in data.ended if row.cost is not None]
    unknown = len(data.ended) - len(known)
    if not any(cost for _, cost in known) and not unknown:
        return metrics_parts.nothing(name, title)
    by_day = metrics_parts.split(data.span, known)
    half = intervals.quantile([cost for _, cost in known], 0.5)
    middle = (
        ""
        if half.value is None
        else f" Half of them cost at most {_money(half.value)} ({metrics_words.between(half, _money)})."
    )
    left_out = f" The cost of {metrics_words.of(unknown, 'run')} isn't known." if unknown else ""
    return Figure(
        name=name,
        title=title,
        sentence=f"{metrics_words.of(len(known), 'run')} cost {_money(sum(c for _, c in known))}.{middle}{left_out}",
        columns=("Ended", "n", "Cost"),
        rows=tuple((day, str(len(values)), _money(sum(values))) for day, values in by_day if values),
        plot=plots.columns(
            [plots.Bar(name=day, parts=(sum(values),)) for day, values in by_day],
            looks=("plot-busy",),
            unit=" $",
        ),
    )


def people(data: Data, *, only: int | None) -> Figure:
    """How each person decides: everybody for who manages people, else oneself alone."""
    name, title = "people", "By person" if only is None else "You"
    counts: dict[str, tuple[int, int]] = {}
    for row in data.answers:
        if only is None or row.person == only:
            hits, n = counts.get(row.name, (0, 0))
            counts[row.name] = (hits + (row.verdict == APPROVE), n + 1)
    if not counts:
        return metrics_parts.nothing(name, title)
    n = sum(count for _, count in counts.values())
    whole = metrics_words.share(intervals.share(sum(hits for hits, _ in counts.values()), n))
    return metrics_parts.shares(
        name,
        title,
        f"{metrics_words.of(n, 'decision')}, {whole[0]} of them approvals ({whole[1]}).",
        "Person",
        counts,
        look="plot-good",
        note="The share of approvals among a person's decisions. Each sees themselves, and administrators see all.",
    )


def _money(value: float) -> str:
    return f"${value:,.2f}"


FIGURES: tuple[Callable[[Data], Figure], ...] = (later, gates, edits, ended, cost)
