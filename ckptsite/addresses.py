"""Addresses of servers and of the site, taken apart. No Django in here."""

import dataclasses
import re
from typing import Any
from urllib.parse import parse_qsl, quote, unquote, urlsplit

from ckptsite import env

_HOST = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?|[0-9A-Fa-f:.]+")


@dataclasses.dataclass(frozen=True, kw_only=True)
class Database:
    """A PostgreSQL address in the words of Django and libpq."""

    name: str
    user: str
    password: str
    host: str
    port: str
    options: dict[str, str]

    def django(self) -> dict[str, Any]:
        """The connection part of a DATABASES entry."""
        return {
            "ENGINE": "django.db.backends.postgresql",
            "NAME": self.name,
            "USER": self.user,
            "PASSWORD": self.password,
            "HOST": self.host,
            "PORT": self.port,
        }

    def libpq(self, *, dbname: str | None = None) -> dict[str, str]:
        """Keyword arguments for psycopg.connect; what isn't given is left to libpq."""
        given = {
            "dbname": dbname or self.name,
            "user": self.user,
            "password": self.password,
            "host": self.host,
            "port": self.port,
        }
        return {**{name: value for name, value in given.items() if value}, **self.options}


def database(url: str) -> Database:
    """`postgresql://user:password@host:port/name?sslmode=...`; refuses other schemes and a missing name.

    A socket folder is given as `postgresql://user@/name?host=/folder`.
    """
    try:
        parts = urlsplit(url)
        port = str(parts.port or "")
    except ValueError as error:
        raise env.EnvError(f"DATABASE_URL can't be read: {error}.") from error
    if parts.scheme not in {"postgres", "postgresql"}:
        raise env.EnvError(
            "DATABASE_URL must begin with postgresql:// (PostgreSQL is the only database used)."
        )
    name = unquote(parts.path.removeprefix("/"))
    if not name or "/" in name:
        raise env.EnvError("DATABASE_URL must end with the name of a database, as in postgresql://host/name.")
    options = dict(parse_qsl(parts.query, keep_blank_values=True))
    return Database(
        name=name,
        user=unquote(parts.username or ""),
        password=unquote(parts.password or ""),
        host=options.pop("host", unquote(parts.hostname or "")),
        port=options.pop("port", port),
        options=options,
    )


@dataclasses.dataclass(frozen=True, kw_only=True)
class Redis:
    """One Redis or Valkey address in the two spellings that the libraries want."""

    broker: str
    client: str


def redis(url: str) -> Redis:
    """From `redis://`, `rediss://`, `unix:///path?db=0` or `redis+socket:///path?virtual_host=0`.

    Kombu and redis-py name a Unix socket and its database number differently. Refuses other schemes.
    """
    try:
        parts = urlsplit(url)
        parts.port  # noqa: B018 - reading it is the check
    except ValueError as error:
        raise env.EnvError(f"REDIS_URL can't be read: {error}.") from error
    if parts.scheme in {"redis", "rediss"}:
        return Redis(broker=url, client=url)
    if parts.scheme not in {"unix", "redis+socket"}:
        raise env.EnvError("REDIS_URL must begin with redis://, rediss:// or unix://.")
    options = dict(parse_qsl(parts.query))
    number = options.get("db") or options.get("virtual_host") or "0"
    if not number.isdecimal() or not parts.path.startswith("/"):
        raise env.EnvError(
            "REDIS_URL must name a socket by its whole path, as in unix:///run/valkey.sock?db=0."
        )
    login = f"{parts.netloc.rpartition('@')[0]}@" if "@" in parts.netloc else ""
    path = quote(unquote(parts.path))
    return Redis(
        broker=f"redis+socket://{login}{path}?virtual_host={number}",
        client=f"unix://{login}{path}?db={number}",
    )


@dataclasses.dataclass(frozen=True, kw_only=True)
class Site:
    """Where people reach the pages."""

    url: str
    host: str
    secure: bool


def site(url: str) -> Site:
    """From PUBLIC_URL, an http or https address without a path; refuses anything else."""
    try:
        parts = urlsplit(url)
        host = parts.hostname
        parts.port  # noqa: B018 - reading it is the check
    except ValueError as error:
        raise env.EnvError(f"PUBLIC_URL can't be read: {error}.") from error
    if (
        parts.scheme not in {"http", "https"}
        or not host
        or not _HOST.fullmatch(host)
        or "@" in parts.netloc
        or parts.path.strip("/")
        or parts.query
        or parts.fragment
    ):
        raise env.EnvError(f"PUBLIC_URL must look like https://runs.example.org, not {url!r}.")
    return Site(url=f"{parts.scheme}://{parts.netloc}", host=host, secure=parts.scheme == "https")
