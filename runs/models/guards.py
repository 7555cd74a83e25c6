"""Guards: what a row must be, refused by the database itself, at no cost to statements that don't touch it.

PostgreSQL reads and plans the expression of a CHECK anew in each statement that writes to the table, whichever columns
it writes. With the rules of these tables that was a third of what the server did for a step of the engine. A guard is
the same rule as a trigger: its plan is kept by the connection, and an update that sets none of its columns skips it.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from django.db import models
from django.db.models.sql import Query

if TYPE_CHECKING:
    from django.db.backends.base.schema import BaseDatabaseSchemaEditor

_FUNCTION = """
CREATE FUNCTION {name}() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF ({condition}) IS FALSE THEN
        RAISE EXCEPTION 'new row for relation "{table}" violates "{name}"'
            USING ERRCODE = 'check_violation', CONSTRAINT = '{name}', TABLE = '{table}';
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER {name} AFTER INSERT OR UPDATE OF {columns} ON {table}
    FOR EACH ROW EXECUTE FUNCTION {name}();
"""


class Guard(models.CheckConstraint):
    """A check constraint that a trigger holds; a row that breaks it is refused as IntegrityError, by its name."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Guard) and super().__eq__(other)

    __hash__ = None  # type: ignore[assignment] # as for every constraint

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
        query = Query(model=model)
        compiler = query.get_compiler(connection=schema_editor.connection)
        where = query.build_where(self.condition)  # type: ignore[arg-type] # as CheckConstraint does it
        text, values = where.as_sql(compiler, schema_editor.connection)
        table = model._meta.db_table
        condition = str(text) % tuple(schema_editor.quote_value(value) for value in values)
        condition = condition.replace(f'"{table}".', "NEW.")
        columns = sorted(set(re.findall(r'NEW\.("\w+")', condition)))
        return _FUNCTION.format(
            name=self.name, table=table, condition=condition, columns=", ".join(columns)
        ).strip()

    def remove_sql(
        self, model: type[models.Model] | None, schema_editor: BaseDatabaseSchemaEditor | None
    ) -> Any:
        """Return the statement that takes function and trigger away."""
        return f"DROP FUNCTION {self.name}() CASCADE"
