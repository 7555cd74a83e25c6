"""What `up` does with Django before and while its children start; one process, since loading Django is the dear part.

Prints one mark a line as each part is done, then what the last command has to say.
"""

import os
import sys

TABLES = "tables"
STATIC = "static"


def main(last: str) -> None:
    """Bring tables and static files up to date, then run the command `last`."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "ckptsite.settings")
    import django  # noqa: PLC0415 - after the line above
    from django.core import management  # noqa: PLC0415

    django.setup()
    management.call_command("migrate", interactive=False, verbosity=0)
    print(TABLES, flush=True)
    management.call_command("collectstatic", interactive=False, verbosity=0)
    print(STATIC, flush=True)
    management.call_command(last)


if __name__ == "__main__":
    main(sys.argv[1])
