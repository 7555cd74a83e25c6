"""The people, agents and world of the engine's tests, for those tests here that need real runs."""

from tests.engine.conftest import fresh_world as fresh_world
from tests.engine.conftest import operator as operator
from tests.engine.conftest import person as person
from tests.engine.conftest import reviewer as reviewer
from tests.engine.conftest import start as start
