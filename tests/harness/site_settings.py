"""The product's settings and the harness as one more app."""

from ckptsite.settings import *  # noqa: F403
from ckptsite.settings import INSTALLED_APPS

INSTALLED_APPS = [*INSTALLED_APPS, "tests.harness"]
