"""The demo as an app of its own: an agent, its tools and its data. Copy it to start your own."""

from django.apps import AppConfig


class DemoConfig(AppConfig):
    """Accounts receivable: reminders by e-mail, and a late fee for the worst."""

    name = "runs.demo"
    label = "demo"
    verbose_name = "Demo: accounts receivable"
    default_auto_field = "django.db.models.BigAutoField"
