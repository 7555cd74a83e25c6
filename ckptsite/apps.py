"""The project itself as an app, so that every process has its Celery app."""

import importlib

from django.apps import AppConfig


class SiteConfig(AppConfig):
    """Loads nothing but the Celery app; without it a process would publish to Celery's default broker."""

    name = "ckptsite"

    def ready(self) -> None:
        importlib.import_module("ckptsite.celery")
