"""A run full of tricks: on every page that shows it, it is text. Nothing runs, nothing is asked for, nothing opens."""

from __future__ import annotations

from collections.abc import Callable
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Dialog, Page, Request

from runs import causes, models, seed
from runs.providers import declared
from runs.tools import contract
from runs.transitions import starts
from runs.transitions.actor import Actor
from tests import factories
from tests.browser.desk import Desk
from tests.engine.conftest import go, step
from tests.engine.world import Look

pytestmark = pytest.mark.django_db(transaction=True)
Sit = Callable[..., Desk]

CORPUS = [
    "<script>fetch('/trap')</script><script src=/trap></script>",
    "<img src=/trap onerror=alert(1)><svg onload=alert(2)><video poster=/trap></video>",
    "<div hx-get=/trap hx-trigger=load></div><div data-hx-post=/trap data-hx-trigger='load delay:1ms'></div>",
    "<body hx-on:load=alert(3) hx-sse:connect=/trap><div hx-on::after-swap='alert(4)'></div>",
    "<form action=/trap method=post><input autofocus onfocus=alert(5)><button data-hotkey=a>Send</button></form>",
    "<iframe src=/trap></iframe><object data=/trap></object><embed src=/trap>",
    "<link rel=stylesheet href=/trap><style>@import '/trap'; * { background: url(/trap) }</style>",
    "<meta http-equiv=refresh content='0;url=/trap'><base href=/trap>",
    "<a href='javascript:alert(6)'>here</a> javascript:alert(7) [here](javascript:alert(8)) ![](/trap)",
    "\"><script>alert(9)</script> ' autofocus onfocus='alert(10)' </textarea></title></pre>--> ]]> {{ 7*7 }}",
    "\x1b[31mred\x1b[0m \x1b]8;;http://trap.example/\x07here\x1b]8;;\x07",
    "gpj\u202eexe.txt\u202c zero\u200bwidth p\u0430ypal \u2066x\u2069 \u2028 \ufeff",
]
HOSTILE = "\n".join(CORPUS)
SHORT = CORPUS[0] + CORPUS[9][:80]
PLANTED = ", ".join(
    [f'[{name}*="trap"]' for name in ("src", "action", "data", "poster", "hx-get", "data-hx-post")]
    + ['[href*="trap"]:not([href^="/switches/?what="])']  # a tool's name as a part of our own address
    + ["[onerror]", "[onload]", "[onfocus]", 'a[href^="javascript:"]', "main [data-hotkey]:not([data-hotkey-label])"]
)  # fmt: skip


def started(who: factories.People) -> models.Run:
    """Return a run whose every text is hostile: it did something, and waits for an action and for an answer."""
    steps = [{"id": name, "title": SHORT, "body": {"note": HOSTILE}} for name in ("one", "two")]
    given = {"name": HOSTILE, "note": HOSTILE}
    asking = {"question": HOSTILE, "schema": {"type": "string", "title": SHORT, "description": HOSTILE}}
    calls = [
        [("plan", {"steps": steps}), ("world.look", {"name": HOSTILE}), ("world.allowed", given)],
        [("world.lookup", given), ("ask_human", asking)],
    ]
    replies = [
        {"text": HOSTILE, "calls": [{"tool": tool, "arguments": arguments} for tool, arguments in reply]}
        for reply in calls
    ]
    seed.register(
        declared.Agent(
            name="hostile",
            title=SHORT[:100],
            provider="replay",
            definition={"replies": replies},
            tools=factories.TOOLS,
            instructions=HOSTILE,
            input_schema={"type": "object", "properties": {"words": {"type": "string"}}},
        )
    )
    by = Actor(user=who.operator)
    return go(starts.start_run("hostile", input={"words": HOSTILE}, title=SHORT, by=by, token="hostile"))


def failed(who: factories.People) -> models.Run:
    """Return a run that failed with a hostile message."""
    Look.failures = [contract.DidNotHappen(HOSTILE)]
    return go(factories.start(who.operator, step("look"), title=SHORT))


def opened(page: Page) -> str:
    """Unfold everything, and return the text of the page."""
    page.evaluate("document.querySelectorAll('details').forEach(part => { part.open = true; })")
    text: str = page.locator("main").inner_text()
    return text


def test_it_is_text_on_every_page(who: factories.People, sit: Sit) -> None:
    run, broken = started(who), failed(who)
    assert (run.status, broken.status) == ("waiting", "failed"), run.error
    action = models.Review.objects.get(run=run, kind="action")
    question = models.Review.objects.get(run=run, kind="question")
    failure = models.Review.objects.get(run=broken)
    desk = sit(who.admin, reduced_motion="reduce")
    page, asked, dialogs = desk.page, list[str](), list[str]()

    def note(request: Request) -> None:
        asked.append(request.url)

    def dismiss(dialog: Dialog) -> None:
        dialogs.append(dialog.message)
        dialog.dismiss()

    desk.context.on("request", note)
    page.on("dialog", dismiss)
    page.add_init_script("addEventListener('securitypolicyviolation', (e) => console.error(e.blockedURI))")
    last = run.checkpoint_number
    paths = [
        "/inbox/",
        f"/reviews/{action.pk}/",
        f"/reviews/{action.pk}/edit/",
        f"/reviews/{question.pk}/",
        f"/reviews/{failure.pk}/",
        f"/reviews/batch/?review={action.pk}",
        "/runs/",
        "/runs/?only=failed",
        f"/runs/{run.pk}/",
        f"/runs/{run.pk}/plan/",
        f"/runs/{run.pk}/plan/edit/",
        f"/runs/{run.pk}/plan/versions/",
        f"/runs/{run.pk}/transcript/",
        f"/runs/{run.pk}/transcript/?q=fetch",
        f"/runs/{run.pk}/effects/",
        f"/runs/{run.pk}/checkpoints/{last}/",
        f"/runs/{run.pk}/diff/?a=1&b={last}",
        f"/runs/{run.pk}/redrive/",
        f"/runs/{broken.pk}/",
        f"/runs/{broken.pk}/redrive/",
        f"/runs/redrive/?cause={causes.key(broken.error)}",
        "/effects/",
    ]
    for path in paths:
        desk.go(path)
        assert "fetch('/trap')" in opened(page), path
        assert page.locator(PLANTED).evaluate_all("all => all.map(e => e.outerHTML)") == [], path
    own = {"/events/", *(urlsplit(path).path for path in paths)}
    strange = [
        url
        for url in asked
        if not url.startswith((f"{desk.server}/static/", "data:image/"))
        and not (url.startswith(desk.server) and urlsplit(url).path in own)
    ]
    assert (strange, dialogs) == ([], [])
