"""Sessions: where somebody is signed in, since when, and when they last showed who they are."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import Any

from asgiref.sync import sync_to_async
from django.conf import settings
from django.contrib.auth import SESSION_KEY
from django.contrib.sessions.backends.base import UpdateError
from django.contrib.sessions.backends.db import SessionStore as DatabaseStore
from django.contrib.sessions.base_session import AbstractBaseSession
from django.db import models
from django.db.models import Func, Q
from django.db.models.functions import Now

from runs import exact
from runs.models.user import User

SEEN_EVERY = datetime.timedelta(minutes=1)


class _ClockNow(Func):
    """The database's wall clock; on it alone a session ends."""

    template = "clock_timestamp()"
    output_field = models.DateTimeField()


class Session(AbstractBaseSession):
    """One browser's session. Its key is secret, so pages speak of it by the key's digest."""

    user = models.ForeignKey(User, models.CASCADE, null=True, related_name="sessions")
    user_id: int | None
    began_at = models.DateTimeField(db_default=Now())
    seen_at = models.DateTimeField(db_default=Now())
    proved_at = models.DateTimeField(db_default=Now())
    """When the person last showed who they are: at sign-in, or when something final asked for it again."""
    strong = models.BooleanField(default=False)
    """Whether more than a password was shown: a second factor, or a passkey."""
    ip = models.GenericIPAddressField(null=True)
    agent = models.CharField(max_length=300, blank=True)

    class Meta(AbstractBaseSession.Meta):
        db_table = "runs_session"
        verbose_name = "session"
        verbose_name_plural = "sessions"

    @classmethod
    def get_session_store_class(cls) -> type[SessionStore]:
        """Return what reads and writes these."""
        return SessionStore

    @property
    def digest(self) -> str:
        """Return the name that pages may show; nobody gets in with it."""
        return exact.digest_bytes(self.session_key.encode())

    @staticmethod
    def open() -> Q:
        """Return the condition of a session that is within both limits."""
        idle, whole = (
            datetime.timedelta(seconds=settings.CKPTSITE[name]) for name in ("SESSION_IDLE", "SESSION_MAX")
        )
        return Q(seen_at__gt=_ClockNow() - idle, began_at__gt=_ClockNow() - whole)


class SessionStore(DatabaseStore):
    """Django's sessions in the database, with both limits on the database's clock and the row at hand as `row`.

    A row that was deleted, since somebody ended the session, is never written again.
    """

    row: Session | None = None
    """The session as it was when the request came; None for one that is new."""

    @classmethod
    def get_model_class(cls) -> type[Session]:
        """Return the table."""
        return Session

    def _get_session_from_db(self) -> Session | None:
        rows = Session.objects.filter(Session.open(), session_key=self.session_key)
        self.row = rows.annotate(now=_ClockNow()).first()
        if self.row is None:
            self._session_key = None
        return self.row

    def opened(self) -> Session | None:
        """Return the row, with the time now as `now`; None for a session that is over or was never kept."""
        self.get(SESSION_KEY)  # reads it, unless it was read
        return self.row

    def reload(self) -> None:
        """Read the row again, after it was written."""
        self._get_session_from_db()

    async def _aget_session_from_db(self) -> Session | None:
        return await sync_to_async(self._get_session_from_db)()

    def create_model_instance(self, data: Mapping[str, Any]) -> Session:
        """Return a new row; where the key only changes, as with the password, the session goes on."""
        made = super().create_model_instance(dict(data))
        assert isinstance(made, Session)
        made.user_id = int(data[SESSION_KEY]) if data.get(SESSION_KEY) else None
        old = self.row
        if old is not None and old.user_id is not None and old.user_id == made.user_id:
            for name in ("began_at", "proved_at", "strong", "ip", "agent"):
                setattr(made, name, getattr(old, name))
        return made

    async def acreate_model_instance(self, data: Mapping[str, Any]) -> Session:
        """Return the same."""
        return await sync_to_async(self.create_model_instance)(data)

    def save(self, must_create: bool = False) -> None:
        """Write what the session holds, and nothing of what the row says beside it."""
        if must_create or self.session_key is None:
            super().save(must_create=must_create)
            return
        made = self.create_model_instance(dict(self.items()))
        new = {name: getattr(made, name) for name in ("session_data", "expire_date", "user_id")}
        if not Session.objects.filter(pk=self.session_key).update(**new):
            raise UpdateError

    async def asave(self, must_create: bool = False) -> None:
        """Do the same."""
        await sync_to_async(self.save)(must_create)

    @classmethod
    def clear_expired(cls) -> None:
        """Forget the sessions that are over."""
        Session.objects.exclude(Session.open()).delete()
