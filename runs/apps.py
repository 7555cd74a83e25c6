"""The one Django app of ckptsite."""

from django.apps import AppConfig
from django.db.models.signals import post_migrate


class RunsConfig(AppConfig):
    """Durable, checkpointed runs of agents and the desk that releases their actions."""

    name = "runs"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from runs import seed  # noqa: PLC0415 needs the models, which are ready only now
        from runs.engine import handing  # noqa: PLC0415 the same
        from runs.mcp import offering  # noqa: PLC0415 the same
        from runs.tools import registry  # noqa: PLC0415 the same

        # Seed rows come after every migrate and after every flush; a data migration's rows would not survive a flush.
        post_migrate.connect(seed.after_migrate, sender=self, dispatch_uid="runs.seed")
        registry.autodiscover()
        offering.offer()
        handing.offer()
