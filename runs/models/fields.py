"""Fields that the tables share."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from django.db import models

from runs import exact

if TYPE_CHECKING:
    TextField = models.TextField[Any, Any]
    CharField = models.CharField[Any, Any]
else:
    TextField = models.TextField
    CharField = models.CharField


class ExactField(TextField):
    """A JSON value stored as its one canonical text; reading gives the value back exactly."""

    if TYPE_CHECKING:  # what the Django type plugin takes for the types of this field
        _pyi_private_set_type: Any
        _pyi_private_get_type: Any
        _pyi_lookup_exact_type: Any

    def from_db_value(self, value: str | None, expression: object, connection: object) -> Any:
        """Return the value of the stored text."""
        return None if value is None else exact.stored(value)

    def get_prep_value(self, value: Any) -> str | None:
        """Return the canonical text; NotExact is refused."""
        return None if value is None else exact.canonical(value, limit=None)

    def to_python(self, value: Any) -> Any:
        """Return `value` as it is: it is a value already."""
        return value

    def value_to_string(self, obj: models.Model) -> str:
        """Return the canonical text, for serialisers."""
        return self.get_prep_value(self.value_from_object(obj)) or ""


class DigestField(CharField):
    """A SHA-256: 64 hexadecimal digits here, 32 bytes in the database; an empty text stands for none."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        kwargs.setdefault("max_length", 64)
        super().__init__(*args, **kwargs)

    def db_type(self, connection: object) -> str:
        """Return the column type; half the bytes of the text, in the row and in each index."""
        return "bytea"

    def from_db_value(self, value: bytes | None, expression: object, connection: object) -> str | None:
        """Return the stored bytes as digits."""
        return None if value is None else bytes(value).hex()

    def get_db_prep_value(self, value: Any, connection: object, prepared: bool = False) -> bytes | None:
        """Return the digits as bytes; ValueError for what isn't hexadecimal."""
        return value if value is None or isinstance(value, bytes) else bytes.fromhex(value)


def choices(statuses: type[StrEnum]) -> list[tuple[str, str]]:
    """Return the choices of a status field, from the one list in runs.lifecycle."""
    return [(status.value, status.value.replace("_", " ")) for status in statuses]


def values(statuses: Iterable[StrEnum]) -> list[str]:
    """Return the statuses as sorted texts, so that a constraint is written the same way each time."""
    return sorted(status.value for status in statuses)


def one_of(field: str, statuses: type[StrEnum]) -> models.Q:
    """Return the rule that `field` holds nothing but one of `statuses`."""
    return models.Q(**{f"{field}__in": [status.value for status in statuses]})
