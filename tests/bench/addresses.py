"""Every page and every part of a page that is measured, with somebody who may open it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import quote

PAGE, FRAGMENT = "page", "fragment"


@dataclass(frozen=True, kw_only=True)
class Address:
    """One thing to ask for."""

    name: str
    path: str
    who: str
    kind: str = PAGE
    search: bool = False


def everything() -> Iterator[Address]:
    """Give all addresses of a seeded database; what they name is found in it."""
    yield from _desk()
    yield from _runs()
    yield from _offices()
    yield from _limited()


def _page(name: str, path: str, who: str = "reviewer") -> Address:
    return Address(name=name, path=path, who=who)


def _part(name: str, path: str, who: str = "reviewer") -> Address:
    return Address(name=name, path=path, who=who, kind=FRAGMENT)


def _search(name: str, path: str, typed: str, who: str = "reviewer") -> Address:
    return Address(name=name, path=f"{path}{quote(typed)}", who=who, search=True)


def _desk() -> Iterator[Address]:
    from runs import models

    def newest(**fields: object) -> int:
        row = models.Review.objects.filter(**fields).order_by("-pk").first()
        if row is None:
            raise LookupError(f"no question with {fields}")
        return row.pk

    for query in ("", "tab=team", "tab=decided", "tab=decided&earlier=1", "tab=snoozed", "tab=team&tier=3",
                  "tab=team&overdue=1", "tab=team&tool=email.send", "tab=team&age=4h"):  # fmt: skip
        yield _page(f"inbox {query}".strip(), f"/inbox/?{query}")
    for part in ("live", "news", "count"):
        yield _part(f"inbox {part}", f"/inbox/?part={part}")
    mail = newest(status="open", action__tool="email.send", kind="action")
    asked = {
        "letter": mail,
        "fee": newest(status="open", action__tool="ledger.post_late_fee"),
        "question": newest(status="open", kind="question"),
        "doubt": newest(status="open", kind="in_doubt"),
        "failure": newest(status="open", kind="failure"),
        "decided": newest(status="approved", action__tool="email.send"),
    }
    for name, number in asked.items():
        yield _page(f"review, {name}", f"/reviews/{number}/")
    yield _part("review live", f"/reviews/{mail}/?part=live")
    yield _part("review came", f"/reviews/{mail}/?part=came")
    yield _page("review, edit", f"/reviews/{mail}/edit/")
    several = models.Review.objects.filter(status="open", run__reviews=mail).order_by("pk")[:5]
    yield _page("batch", "/reviews/batch/?" + "&".join(f"review={one.pk}" for one in several))
    run = models.Run.objects.order_by("-pk").filter(status="succeeded")[5]
    customer = run.title.partition(":")[0]
    yield _search("inbox by words", "/inbox/?tab=team&q=", "invoice overdue")
    yield _search("inbox decided, by words", "/inbox/?tab=decided&earlier=1&q=", "invoice")
    yield _search("inbox decided, by nothing", "/inbox/?tab=decided&earlier=1&q=", "zzzzzz")
    yield _search("inbox decided, by customer", "/inbox/?tab=decided&earlier=1&q=", customer)


def _limited() -> Iterator[Address]:
    """Give the lists as somebody sees them who sees one rare agent only."""
    from tests.bench.seeding import patterns

    who = patterns.LIMITED
    lists = (
        "/inbox/?tab=team",
        "/inbox/?tab=decided&earlier=1",
        "/runs/",
        "/runs/?only=done",
        "/effects/",
        "/agents/",
    )
    for path in lists:
        yield _page(f"limited, {path}", path, who)
    yield _search("limited, runs by frequent word", "/runs/?q=", "invoice", who)
    yield _search("limited, effects by word", "/effects/?q=", "reminder", who)


def _runs() -> Iterator[Address]:
    from runs import models

    rows = models.Run.objects.order_by("-pk")
    runs = {
        "short": rows.filter(status="succeeded", position__lt=30)[0],
        "waiting": rows.filter(status="waiting", reviews__kind="action")[0],
        "failed": rows.filter(status="failed")[0],
        "long": rows.filter(position__gt=60, position__lt=3000).order_by("-position")[0],
        "huge": rows.order_by("-position")[0],
        "new attempt": rows.exclude(path=[]).order_by("-pk")[0],
    }
    for query in ("", "only=running", "only=waiting", "only=paused", "only=failed", "only=done", "only=stopped",
                  "label=team%3Dnorth"):  # fmt: skip
        yield _page(f"runs {query}".strip(), f"/runs/?{query}")
    middle = models.Run.objects.order_by("-pk").values_list("pk", flat=True)[0] // 2
    yield _page("runs, halfway down", f"/runs/?before={middle}")
    yield _page("runs done, halfway down", f"/runs/?only=done&before={middle}")
    yield _part("runs live", "/runs/?part=live")
    short = runs["short"]
    customer, _, invoice = short.title.partition(": invoice ")
    for name, typed in (
        ("title", short.title), ("customer", customer), ("invoice", invoice), ("tool", "email.send"),
        ("argument", f"accounts.{customer.lower()}"), ("frequent word", "invoice"), ("id", f"#{short.pk}"),
        ("beginning", customer[:3]), ("nothing", "zzzzzz"), ("without", f"{customer} -reminder"),
        ("number", invoice.removeprefix("INV-")),
    ):  # fmt: skip
        yield _search(f"runs by {name}", "/runs/?q=", typed)
    yield _search("runs done by frequent word", "/runs/?only=done&q=", "invoice")
    for name, run in runs.items():
        for tab in ("", "plan/", "transcript/", "effects/", "usage/", "checkpoints/"):
            yield _page(f"run, {name}, {tab or 'timeline'}".rstrip("/"), f"/runs/{run.pk}/{tab}")
        yield _part(f"run live, {name}", f"/runs/{run.pk}/?part=live")
        for tab in ("plan", "transcript", "effects", "usage", "checkpoints"):
            yield _part(f"run {tab} live, {name}", f"/runs/{run.pk}/{tab}/?part=live")
        number = max(1, run.checkpoint_number // 2)
        yield _page(f"run, {name}, checkpoint", f"/runs/{run.pk}/checkpoints/{number}/", "operator")
        yield _page(f"run, {name}, dossier", f"/runs/{run.pk}/dossier/", "auditor")
        if name != "new attempt":
            yield _page(f"run, {name}, re-drive", f"/runs/{run.pk}/redrive/?checkpoint={number}", "operator")
            yield _page(f"run, {name}, separate", f"/runs/{run.pk}/separate/?checkpoint={number}", "operator")
        yield _page(f"run, {name}, differences", f"/runs/{run.pk}/diff/?a=1&b={number}")
        yield _page(f"run, {name}, plan versions", f"/runs/{run.pk}/plan/versions/")
        yield _page(f"run, {name}, line", f"/runs/{run.pk}/entries/{number}/")
        yield _search(f"run, {name}, by words", f"/runs/{run.pk}/?q=", "INV")
    yield _page("run, state", f"/runs/{short.pk}/checkpoints/1/state/")
    waiting = runs["waiting"].pk
    yield _page("run, plan edit", f"/runs/{waiting}/plan/edit/", "operator")
    yield _part("run, plan editor", f"/runs/{waiting}/plan/edit/?part=editor", "operator")
    yield _part("run, plan news", f"/runs/{waiting}/plan/edit/?part=news", "operator")
    new = runs["new attempt"]
    yield _page("compare attempts", f"/compare/?runs={new.root_id},{new.pk}")
    yield _page("re-drive many", "/runs/redrive/", "operator")


def _offices() -> Iterator[Address]:
    from runs import models

    for query in ("", "state=unknown", "state=contradicted", "state=standing", "tool=ledger.post_late_fee"):
        yield _page(f"effects {query}".strip(), f"/effects/?{query}")
    yield _search("effects by nothing", "/effects/?q=", "zzzzzz")
    yield _search("effects by word", "/effects/?q=", "reminder")
    yield _search(
        "effects by customer", "/effects/?q=", models.Run.objects.order_by("pk")[7].title.split(":")[0]
    )
    agent = models.Agent.objects.filter(title="Receivables north").get()
    yield _page("effects of an agent", f"/effects/?agent={agent.name}")
    for query in ("", "who=", "act=review.approve", "refused=1", f"agent={agent.name}"):
        yield _page(f"audit {query}".strip(), f"/audit/?{query}", "auditor")
    for days in (7, 30, 90):
        yield _page(f"metrics, {days} days", f"/metrics/?days={days}", "admin")
    yield _page("agents", "/agents/", "admin")
    yield _page("agent", f"/agents/{agent.name}/", "admin")
    yield _page("agent, edit", f"/agents/{agent.name}/edit/", "admin")
    yield _page("agent, memory", f"/agents/{agent.name}/memory/", "admin")
    version = models.AgentVersion.objects.filter(agent=agent).order_by("-pk")[0].number
    yield _page("agent, try", f"/agents/{agent.name}/{version}/try/", "admin")
    yield _page("budget of an agent", f"/budgets/agents/{agent.name}/", "admin")
    yield _part("audit chain", "/audit/?part=chain", "auditor")
    yield _part("system state", "/system/?part=state", "admin")
    yield _part("mcp servers", "/mcp/?part=servers", "admin")
    for path in ("system/", "agents/new/", "policies/", "policies/edit/", "tools/", "tools/email.send/", "mcp/",
                 "switches/", "secrets/", "team/", "budgets/", "budgets/everybody/", "settings/",
                 "settings/notifications/", "settings/tokens/", "settings/sessions/", "notices/",
                 "outgoing/", "system/storage/", "runs/imported/"):  # fmt: skip
        yield _page(path.rstrip("/"), f"/{path}", "admin")
    person = models.User.objects.get(username="reviewer")
    yield _page("person", f"/team/{person.pk}/", "admin")
