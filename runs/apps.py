"""The one Django app of ckptsite."""

from django.apps import AppConfig


class RunsConfig(AppConfig):
    """Durable, checkpointed runs of agents and the desk that releases their actions."""

    name = "runs"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from django.db.models.signals import post_migrate

        from runs import seed
        from runs.tools import registry

        # Seed rows come after every migrate and after every flush; a data migration's rows would not survive a flush.
        post_migrate.connect(seed.after_migrate, sender=self, dispatch_uid="runs.seed")
        registry.autodiscover()
