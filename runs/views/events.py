"""The stream of hints to an open page."""

from __future__ import annotations

from asgiref.sync import sync_to_async
from django.http import Http404, HttpRequest, HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase

from runs import access, live


async def events(request: HttpRequest) -> HttpResponseBase:
    """Stream hints about the topics `t`; 401 when the session is over, 404 for who may see nothing.

    The right is checked as it opens, and anew when it ends and the page opens another: after ten minutes, and at once
    where the session ended or the person may see something else. What a hint leads to is checked again by the page that
    it makes ask.
    """
    if request.method != "GET":
        return HttpResponse(status=405, headers={"Allow": "GET"})
    user = await request.auser()
    if not user.is_authenticated:
        return HttpResponse("Sign in again.\n", status=401, content_type="text/plain")
    try:
        topics = await sync_to_async(access.watched)(user, live.topics(request.GET.getlist("t")))
    except Http404:
        return HttpResponse(status=404)
    await live.released()
    response = StreamingHttpResponse(live.stream(topics, person=user.pk), content_type="text/event-stream")
    response["Cache-Control"] = "no-store"
    response["X-Accel-Buffering"] = "no"
    return response
