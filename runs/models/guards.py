"""Guards: what a row must be, refused by the database itself, at no cost to statements that don't touch it.

PostgreSQL reads and plans the expression of a CHECK anew in each statement that writes to the table, whichever columns
it writes. With the rules of these tables that was a third of what the server did for a step of the engine. A guard is
the same rules in one trigger: their plans are kept by the connection, and an update that sets none of their columns
skips them.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from django.db import models
from django.db.models.sql import Query

if TYPE_CHECKING:
    from django.db.backends.base.schema import BaseDatabaseSchemaEditor

_RULE = """
    IF ({condition}) IS FALSE THEN
        RAISE EXCEPTION 'new row for relation "{table}" violates "{name}"'
            USING ERRCODE = 'check_violation', CONSTRAINT = '{name}', TABLE = '{table}';
    END IF;"""
_TRIGGER = """
CREATE FUNCTION {name}() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN{rules}
    RETURN NULL;
END $$;
CREATE TRIGGER {name} AFTER INSERT OR UPDATE OF {columns} ON {table}
    FOR EACH ROW EXECUTE FUNCTION {name}();
"""


class Guard(models.BaseConstraint):
    """The rules of a table by their names; a row that breaks one is refused as IntegrityError, by that name."""

    def __init__(self, *, name: str, rules: dict[str, models.Q]) -> None:
        super().__init__(name=name)
        self.rules = rules

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Guard) and (self.name, self.rules) == (other.name, other.rules)

    __hash__ = None  # type: ignore[assignment] # as for every constraint

    def deconstruct(self) -> tuple[str, tuple[Any, ...], dict[str, Any]]:
        """Return what a migration writes."""
        path, args, kwargs = super().deconstruct()
        return path, tuple(args), {**kwargs, "rules": self.rules}

    def constraint_sql(
        self, model: type[models.Model] | None, schema_editor: BaseDatabaseSchemaEditor | None
    ) -> str:
        """Return nothing for the table's definition; the trigger follows it."""
        assert schema_editor is not None
        schema_editor.deferred_sql.append(self.create_sql(model, schema_editor))
        return ""

    def create_sql(
        self, model: type[models.Model] | None, schema_editor: BaseDatabaseSchemaEditor | None
    ) -> Any:
        """Return the statements that make function and trigger."""
        assert model is not None
        assert schema_editor is not None
        table = model._meta.db_table
        rules = "".join(
            _RULE.format(name=name, table=table, condition=_condition(rule, model, schema_editor))
            for name, rule in self.rules.items()
        )
        columns = sorted(set(re.findall(r'NEW\.("\w+")', rules)))
        return _TRIGGER.format(name=self.name, table=table, rules=rules, columns=", ".join(columns)).strip()

    def remove_sql(
        self, model: type[models.Model] | None, schema_editor: BaseDatabaseSchemaEditor | None
    ) -> Any:
        """Return the statement that takes function and trigger away."""
        return f"DROP FUNCTION {self.name}() CASCADE"

    def validate(self, *_args: Any, **_kwargs: Any) -> None:
        """Look at nothing here: the database does."""


def _condition(rule: models.Q, model: type[models.Model], editor: BaseDatabaseSchemaEditor) -> str:
    query = Query(model=model)
    where = query.build_where(rule)
    text, values = where.as_sql(query.get_compiler(connection=editor.connection), editor.connection)
    condition = str(text) % tuple(editor.quote_value(value) for value in values)
    return condition.replace(f'"{model._meta.db_table}".', "NEW.")
