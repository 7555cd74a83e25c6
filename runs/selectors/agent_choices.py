"""What the form of an agent offers: the tools in groups with what each does, and names that are known already."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from runs import models
from runs.models import scopes
from runs.policies import parsing, rules
from runs.providers import llm
from runs.selectors import policy_page, tools
from runs.tools import contract, handing, memory, registry, undo

MANY = 100
OPEN = 4
"""A group of so many tools is unfolded from the start."""
_TITLES = {
    "files": "Files", "email": "E-mail", "http": "The web", "sql": "Databases", "git": "Git", "slack": "Slack",
    "webhook": "Webhooks", "shell": "Programs", "python": "Programs", "hand_off": "Other agents",
    "read_more": "Results",
}  # fmt: skip
_ASKED = {
    rules.ALLOW: "It goes through.", rules.REVIEW: "People decide before it.", rules.DENY: "The policy refuses it.",
}  # fmt: skip
_MEMORY = (memory.Note.name, memory.Recall.name)


@dataclass(frozen=True, kw_only=True)
class ToolChoice:
    """One tool that can be ticked; without a tier it isn't installed."""

    name: str
    title: str
    tier: int | None
    effect: str = ""
    lost: str = ""
    asked: str = ""  # what the policy in force says of it; nothing where it only reads and may
    ticked: bool = False


@dataclass(frozen=True, kw_only=True)
class ToolGroup:
    """Tools that belong together."""

    title: str
    tools: tuple[ToolChoice, ...]

    @property
    def ticked(self) -> int:
        """Return how many of them are ticked."""
        return sum(tool.ticked for tool in self.tools)

    @property
    def open(self) -> bool:
        """Return whether it is unfolded from the start."""
        return self.ticked > 0 or len(self.tools) <= OPEN


@dataclass(frozen=True, kw_only=True)
class Choices:
    """Everything that the form offers."""

    groups: tuple[ToolGroup, ...]
    memory: tuple[ToolChoice, ...]
    off: int
    projects: tuple[str, ...]
    names: tuple[str, ...]  # of models that agents use here
    secrets: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Limit:
    """What is limited, with the names of the fields for one run and for a day."""

    label: str
    names: tuple[tuple[str, str], ...]
    hint: str = ""
    lines: bool = False


_MEASURES = (
    ("steps", "Turns", "replies of the model, or steps"),
    ("calls", "Tool calls", "reads and changes"),
    ("tokens", "Tokens", "in and out together"),
    ("cost_micro", "Dollars", "by the prices of its vendor"),
    ("seconds", "Seconds at work", ""),
    ("tools", "Calls of one tool", "one tool a line"),
)
LIMITS = tuple(
    Limit(
        label=label,
        hint=hint,
        lines=measure == "tools",
        names=((f"budget-{measure}", "One run"), (f"per_day-{measure}", "All its runs in a day")),
    )
    for measure, label, hint in _MEASURES
)
VENDORS = (
    ("anthropic", "Anthropic"),
    ("openai", "OpenAI, or a server that speaks as it does"),
)
PROVIDERS = (
    (
        "llm",
        "A model",
        "It reads the instructions, makes a plan that people can see and change, and calls tools.",
    ),
    ("playbook", "A playbook", "Fixed steps without a model: the same each time, and no key is needed."),
    ("replay", "A recording", "It gives the replies of a recorded run again."),
)


def choices(user: models.User, ticked: Iterable[str], *, agent: str = "") -> Choices:
    """Return what a person may choose from for an agent, which doesn't hand work to itself."""
    chosen = list(ticked)
    policy = parsing.parse(policy_page.in_force().rules)
    found = {
        tool.name: _choice(tool, chosen, _said(tool, policy, agent))
        for tool in registry.all()
        if tool.name in chosen or not (isinstance(tool, undo.Undo) or tool.name == handing.PREFIX + agent)
    }
    found |= {
        name: ToolChoice(name=name, title=name, tier=None, ticked=True)
        for name in chosen
        if name not in found
    }
    limit = user.limit()
    if limit is not None:
        seen = models.Agent.objects.filter(scopes.seen(user, "pk")).values_list("name", flat=True)
        known = {handing.PREFIX + name for name in seen}
        found = {
            name: one for name, one in found.items()
            if one.ticked or not name.startswith(handing.PREFIX) or name in known
        }  # fmt: skip
    groups: dict[str, list[ToolChoice]] = {}
    for name, one in found.items():
        if name not in _MEMORY:
            groups.setdefault(_group(one), []).append(one)
    versions = models.AgentVersion.objects.filter(scopes.seen(user, "agent"), provider=llm.Llm.name)
    used = versions.order_by("model").values_list("model", flat=True).distinct()[:MANY]
    rows = models.Agent.objects.filter(scopes.seen(user, "pk")).exclude(project="")
    return Choices(
        groups=tuple(
            ToolGroup(title=title, tools=tuple(sorted(each, key=lambda one: (one.tier or 0, one.title))))
            for title, each in sorted(groups.items(), key=lambda item: (item[0].startswith("MCP"), item[0]))
        ),
        memory=tuple(found[name] for name in _MEMORY if name in found),
        off=len(registry.off()),
        projects=tuple(rows.order_by("project").values_list("project", flat=True).distinct()[:MANY]),
        names=tuple(sorted({name.partition(":")[2] for name in used} - {""})),
        secrets=tuple(models.Secret.objects.order_by("name").values_list("name", flat=True)[:MANY]),
    )


def _said(tool: contract.Tool, policy: tuple[rules.Rule, ...], agent: str) -> str:
    """Return what a policy says of the tool's calls by this agent, as far as it doesn't depend on call or run."""
    facts = rules.Facts(
        agent=agent, tool=tool.name, effect=tool.effect, tier=tool.risk(), protection=tool.protection,
        open_world=tool.open_world,
    )  # fmt: skip
    if rules.depends(tuple(map(_of_the_run, policy)), facts):
        return "The policy looks at each call."
    verdict = rules.evaluate(policy, facts).verdict
    return _ASKED[verdict] if facts.tier or verdict != rules.ALLOW else ""


def _of_the_run(rule: rules.Rule) -> rules.Rule:
    """Return a rule that is about runs with certain labels as one that has to see the call."""
    return (
        rule
        if rule.match.labels is None
        else replace(rule, match=replace(rule.match, labels=None, when="true"))
    )


def _choice(tool: contract.Tool, chosen: list[str], asked: str) -> ToolChoice:
    return ToolChoice(
        name=tool.name,
        title=tool.title or tool.name,
        tier=tool.risk(),
        effect=f"It {tools.effect_words(tool.effect, tool=tool.name)}.",
        lost=tools.lost_words(tool),
        asked=asked,
        ticked=tool.name in chosen,
    )


def _group(one: ToolChoice) -> str:
    first, _, rest = one.name.partition(".")
    if one.tier is None:
        return "Not installed here"
    if first == "mcp":
        return f"MCP server {rest.partition('.')[0]}"
    return _TITLES.get(first, first.replace("_", " ").capitalize())
