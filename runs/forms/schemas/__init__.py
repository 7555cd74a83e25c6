"""Forms made from JSON Schemas, exact: what is drawn and sent back untouched gives the same value, byte for byte.

`building` makes the fields of a value, `reading` those of what was sent and what its buttons ask for, `values` the
value of fields. What has no control of its own is edited as exact JSON.
"""

from runs.forms.schemas.building import blank, build
from runs.forms.schemas.fields import MISSING, Field, Kind, Option
from runs.forms.schemas.reading import focus, read
from runs.forms.schemas.values import Result, checked, listed, marked, placed, result

__all__ = [
    "MISSING",
    "Field",
    "Kind",
    "Option",
    "Result",
    "blank",
    "build",
    "checked",
    "focus",
    "listed",
    "marked",
    "placed",
    "read",
    "result",
]
