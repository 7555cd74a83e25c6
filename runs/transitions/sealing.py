"""Encrypting what is kept of secrets: AES-256-GCM under keys outside the database, bound to the secret's name."""

from __future__ import annotations

import os
import secrets
import tempfile
from dataclasses import dataclass
from pathlib import Path

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from django.conf import settings

NONCE = 12
SHORTEST_KEY = 32


class NoKey(ValueError):
    """The key under which something was encrypted isn't here, or it isn't what was encrypted."""


@dataclass(frozen=True, kw_only=True)
class Key:
    """One key, named by a digest of its own."""

    id: str
    key: bytes

    def seal(self, name: str, value: str) -> bytes:
        """Return the value encrypted, for the secret of this name only."""
        nonce = os.urandom(NONCE)
        return nonce + AESGCM(self.key).encrypt(nonce, value.encode(), self._bound(name))

    def open(self, name: str, sealed: bytes) -> str:
        """Return the value; NoKey for what was altered, or is another secret's."""
        try:
            found = AESGCM(self.key).decrypt(sealed[:NONCE], sealed[NONCE:], self._bound(name))
        except InvalidTag as error:
            raise NoKey(f"What is kept of secret://{name} was altered.") from error
        return found.decode()

    def _bound(self, name: str) -> bytes:
        return f"ckptsite secret\0{self.id}\0{name}".encode()


def keys() -> list[Key]:
    """Return the keys, the one in use first: read anew each time, since they may have been rotated meanwhile."""
    text = settings.CKPTSITE_SECRETS_KEYS or _kept()
    found = [_derived(word) for word in text.replace(",", " ").split()]
    if not found:
        raise NoKey("There is no key for secrets: set CKPTSITE_SECRETS_KEYS.")
    return found


def key(key_id: str) -> Key:
    """Return the key of this id; NoKey where it isn't here."""
    found = next((one for one in keys() if one.id == key_id), None)
    if found is None:
        raise NoKey(f"The key {key_id}, under which it was encrypted, is not among this installation's keys.")
    return found


def renew() -> bool:
    """Put a new key before the others in the data folder; False where the keys are given and people do that."""
    if settings.CKPTSITE_SECRETS_KEYS:
        return False
    path = settings.CKPTSITE_SECRETS_KEYS_PATH
    handle, draft = tempfile.mkstemp(prefix=".secrets-keys-", dir=path.parent)
    with os.fdopen(handle, "w", encoding="ascii") as file:
        file.write(" ".join([secrets.token_urlsafe(48), _kept()]))
        file.flush()
        os.fsync(file.fileno())
    Path(draft).replace(path)
    return True


def _kept() -> str:
    try:
        return str(settings.CKPTSITE_SECRETS_KEYS_PATH.read_text(encoding="ascii"))
    except OSError as error:
        raise NoKey("The key for secrets can't be read in the data folder.") from error


def _derived(text: str) -> Key:
    if len(text) < SHORTEST_KEY:
        raise NoKey(f"A key for secrets has at least {SHORTEST_KEY} characters.")
    raw = HKDF(algorithm=hashes.SHA256(), length=40, salt=None, info=b"ckptsite secrets").derive(
        text.encode()
    )
    return Key(id=raw[32:].hex(), key=raw[:32])
