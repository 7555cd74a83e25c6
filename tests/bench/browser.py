"""A person without JavaScript: signs in, reads a review page and sends its form, over one kept connection."""

from __future__ import annotations

import html
import http.client
import re
from dataclasses import dataclass
from urllib.parse import urlencode, urlsplit


@dataclass(frozen=True, kw_only=True)
class Form:
    """An approval, filled in."""

    path: str
    body: bytes


class Person:
    """One signed-in session."""

    def __init__(self, url: str, name: str, password: str) -> None:
        self.url = url.rstrip("/")
        self._connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=30)
        self._cookies: dict[str, str] = {}
        page = self._get("/login/")
        given = {**hidden(page), "username": name, "password": password}
        self._request("POST", "/login/", urlencode(given).encode())
        if not any("session" in cookie for cookie in self._cookies):
            raise RuntimeError("The sign-in was refused.")

    def cookies(self) -> str:
        """Return what a browser sends with each request of this session."""
        return "; ".join(f"{name}={value}" for name, value in self._cookies.items())

    def form(self, review: int) -> Form:
        """Return the approval of this review as the page offers it."""
        path = f"/reviews/{review}/"
        page = self._get(path)
        approve = page[page.index('id="approve"') :]
        given = {**hidden(approve[: approve.index("</form>")]), "reason": "Checked."}
        retype = re.search(r'id="retype-value">(.*?)</span>', page, re.DOTALL)
        if retype:
            given["retype"] = html.unescape(re.sub(r"<[^>]+>", "", retype[1])).strip()
        return Form(path=path, body=urlencode(given).encode())

    def send(self, form: Form) -> None:
        """Send the form, and don't wait for the answer."""
        self._connection.request("POST", form.path, form.body, self._headers())

    def answered(self) -> None:
        """Read the answer to what was sent: it must lead on."""
        status, text = self._read()
        if status not in {302, 303}:
            raise RuntimeError(f"The approval was answered with {status}: {text[:2000]}")

    def _get(self, path: str) -> str:
        try:
            return self._request("GET", path, None)
        except (
            http.client.RemoteDisconnected
        ):  # the server closes a connection that rests; browsers ask again
            self._connection.close()
            return self._request("GET", path, None)

    def _request(self, method: str, path: str, body: bytes | None) -> str:
        self._connection.request(method, path, body, self._headers())
        return self._read()[1]

    def _read(self) -> tuple[int, str]:
        answer = self._connection.getresponse()
        text = answer.read().decode()
        for line in answer.headers.get_all("Set-Cookie") or []:
            name, _, value = line.partition(";")[0].partition("=")
            self._cookies[name] = value
        return answer.status, text

    def _headers(self) -> dict[str, str]:
        return {
            "Content-Type": "application/x-www-form-urlencoded",
            "Cookie": self.cookies(),
            "Origin": self.url,
            "Referer": f"{self.url}/",
        }


def hidden(page: str) -> dict[str, str]:
    """Return the hidden fields of the first form on the page."""
    found = {}
    for tag in re.findall(r"<input[^>]*type=\"hidden\"[^>]*>", page):
        name, value = re.search(r'name="([^"]*)"', tag), re.search(r'value="([^"]*)"', tag)
        if name and name[1] not in found:
            found[name[1]] = html.unescape(value[1]) if value else ""
    return found
