"""Where Slack knocks: a signed request of our team and channel, by somebody who is linked with a person here."""

from __future__ import annotations

import time

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_POST

from runs.notices import slack_requests as requests
from runs.transitions import answers, attempts, notices, slack_decisions, slack_links
from runs.transitions.actor import Actor
from runs.views import doors

UNLINKED = (
    "Your Slack account is linked with nobody here. "
    "Open Settings, Notifications, make a code, and send it: /ckptsite link CODE"
)


@csrf_exempt
@require_POST
def slack(request: HttpRequest) -> HttpResponse:
    """Decide by a button, or link an account by the command. The answer itself is empty and quick."""
    size = request.META.get("CONTENT_LENGTH") or ""
    if not size.isdecimal() or int(size) > requests.MOST:
        return HttpResponse(status=413)
    body, by = request.body, Actor(user=None, channel=answers.SLACK, ip=doors.address(request))
    stamp, signature = (
        request.headers.get(f"X-Slack-{name}", "") for name in ("Request-Timestamp", "Signature")
    )
    secret = settings.SLACK_SIGNING_SECRET
    if not requests.signed(secret, body=body, timestamp=stamp, signature=signature, now=time.time()):
        return _refused("forged", "It isn't signed by Slack, or is too old.", by)
    click = requests.read(body)
    if click is None:
        return HttpResponse(status=400)
    if not settings.SLACK_TEAM or click.team != settings.SLACK_TEAM:
        return _refused("not_yours", "It comes from another team, or none is set.", by)
    if click.act == "command":
        text = slack_decisions.command(click.value, team=click.team, member=click.member, ip=by.ip)
        return HttpResponse(text, content_type="text/plain; charset=utf-8")
    if not settings.SLACK_CHANNEL or click.channel != settings.SLACK_CHANNEL:
        return _refused("not_yours", "It comes from another channel, or none is set.", by)
    if click.act not in {answers.APPROVE, answers.REJECT}:
        return HttpResponse()
    person = slack_links.person_of(click.team, click.member)
    if person is None:
        attempts.note("slack.request", code="not_yours", reason=UNLINKED, subject="slack", by=by)
        notices.reply(click.answer_to, UNLINKED, replace=False)
        return HttpResponse()
    by = Actor(user=person, channel=answers.SLACK, ip=by.ip)
    text, over = slack_decisions.decide(click.value, click.act, reason=click.reason, token=click.token, by=by)
    notices.reply(click.answer_to, text, replace=over)
    return HttpResponse()


def _refused(code: str, reason: str, by: Actor) -> HttpResponse:
    attempts.note("slack.request", code=code, reason=reason, subject="slack", by=by)
    return HttpResponse(status=401)
