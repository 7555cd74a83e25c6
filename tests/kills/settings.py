"""The product's settings and one more app, which lets a test stop a worker at an exact point."""

from ckptsite.settings import *  # noqa: F403
from ckptsite.settings import INSTALLED_APPS

INSTALLED_APPS = [*INSTALLED_APPS, "tests.kills"]
