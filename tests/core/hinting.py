"""A process of the product that sends one hint per line it reads, and says how long each took."""

import sys
import time

import django


def main() -> None:
    """Answer `wake` and `changed` with milliseconds and whether the broker took it."""
    django.setup()
    from django.db import connection

    from runs import hints

    connection.ensure_connection()
    for line in sys.stdin:
        began = time.monotonic()
        taken = False
        if line.strip() == "wake":
            taken = hints.wake_now(1)
        else:
            hints.changed(1, inbox=True)  # no transaction is open, so it is sent at once
        sys.stdout.write(f"{(time.monotonic() - began) * 1000:.1f} {int(taken)}\n")
        sys.stdout.flush()


main()
