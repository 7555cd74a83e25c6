"""Files that a run's log names: saved, or shown where they are pictures that browsers can't be tricked with."""

from __future__ import annotations

from django.http import HttpResponse
from django.utils.http import content_disposition_header
from django.views.decorators.http import require_safe

from runs import access, rights
from runs.views import doors

SHOWN = {
    b"\x89PNG\r\n\x1a\n": "image/png",
    b"\xff\xd8\xff": "image/jpeg",
    b"GIF87a": "image/gif",
    b"GIF89a": "image/gif",
}
"""What may be shown in its place, by its first bytes: nothing that holds scripts, whatever its name says."""


@require_safe
@doors.allowed(rights.Act.VIEW)
def file(request: doors.Request, run_id: int, sha256: str) -> HttpResponse:
    """A file that the run was given, sent or made: to be saved, or with `show` as a picture."""
    name, content = access.file_for(request.user, run_id, sha256)
    kind = _kind(content) if request.GET.get("show") else None
    response = HttpResponse(content, content_type=kind or "application/octet-stream")
    response["Content-Disposition"] = content_disposition_header(kind is None, _name(name)) or "attachment"
    response["X-Content-Type-Options"] = "nosniff"
    response["Content-Security-Policy"] = "default-src 'none'; sandbox"
    response["Cross-Origin-Resource-Policy"] = "same-origin"
    return response


def _kind(content: bytes) -> str | None:
    if content[:4] == b"RIFF" and content[8:12] == b"WEBP":
        return "image/webp"
    return next((kind for start, kind in SHOWN.items() if content.startswith(start)), None)


def _name(path: str) -> str:
    """Return the last part of a path as a name that a browser may save under."""
    last = path.replace("\\", "/").rpartition("/")[2]
    return "".join(sign for sign in last if sign.isprintable())[:150] or "file"
