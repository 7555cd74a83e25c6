"""A small identity provider on loopback: OpenID Connect's discovery, tokens by code with proof keys, and userinfo."""

from __future__ import annotations

import base64
import hashlib
import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

import jwt

CLIENT, SECRET = "ckptsite", "a secret of the client"


class Provider(ThreadingHTTPServer):
    """Whoever comes is `person`, who has already signed in there."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Answers)
        self.url = f"http://127.0.0.1:{self.server_port}"
        self.person: dict[str, Any] = {}
        self.token_claims: dict[str, Any] = {}
        self.codes: dict[str, dict[str, str]] = {}

    def agree(self, address: str) -> str:
        """Return where a browser is sent after the person has agreed at this address of the provider."""
        asked = dict(parse_qsl(urlsplit(address).query))
        assert (asked["client_id"], asked["response_type"]) == (CLIENT, "code")
        assert asked["code_challenge_method"] == "S256"
        code = f"code-{len(self.codes)}"
        self.codes[code] = asked
        return f"{asked['redirect_uri']}?{urlencode({'code': code, 'state': asked['state']})}"


class Answers(BaseHTTPRequestHandler):
    """Answers of the provider."""

    server: Provider

    def do_GET(self) -> None:
        """Discovery and userinfo."""
        url = self.server.url
        if self.path == "/.well-known/openid-configuration":
            names = {"authorization_endpoint": "authorize", "token_endpoint": "token", "userinfo_endpoint": "userinfo",
                     "jwks_uri": "keys"}  # fmt: skip
            self._say({"issuer": url, **{name: f"{url}/{path}" for name, path in names.items()}})
        elif self.path == "/userinfo" and self.headers["Authorization"] == "Bearer opens-userinfo":
            self._say(self.server.person)
        else:
            self._say({}, status=401)

    def do_POST(self) -> None:
        """Tokens for a code that hasn't been used, to who has asked for it."""
        given = dict(parse_qsl(self.rfile.read(int(self.headers["Content-Length"])).decode()))
        asked = self.server.codes.pop(given.get("code", ""), None)
        right = (_challenge(given.get("code_verifier", "")), given["redirect_uri"], SECRET)
        names = ("code_challenge", "redirect_uri")
        if asked is None or (*map(asked.get, names), given.get("client_secret")) != right:
            self._say({"error": "invalid_grant"}, status=400)
            return
        claims = {"iss": self.server.url, "aud": CLIENT, "sub": self.server.person["sub"], "iat": int(time.time()),
                  "exp": int(time.time()) + 60, **self.server.token_claims}  # fmt: skip
        token = jwt.encode(
            claims, "a key of thirty-two bytes or more, of the provider's own", algorithm="HS256"
        )
        self._say({"access_token": "opens-userinfo", "token_type": "Bearer", "id_token": token})

    def _say(self, answer: dict[str, Any], *, status: int = 200) -> None:
        body = json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


def _challenge(verifier: str) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).decode().rstrip("=")


@contextmanager
def running() -> Iterator[Provider]:
    """While this lasts, the provider answers."""
    with Provider() as provider:
        thread = threading.Thread(target=provider.serve_forever)
        thread.start()
        try:
            yield provider
        finally:
            provider.shutdown()
            thread.join()
