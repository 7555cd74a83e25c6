"""The embedded Valkey: hints only, so nothing is kept on disk and a full disk can't stop it."""

import os
import socket
import time

from ckptsite import addresses, env
from ckptsite.services import binaries, processes
from ckptsite.services import folder as folders


def program(folder: folders.Folder) -> processes.Program:
    """The server on this data folder's socket, ready to be started."""
    return processes.Program(
        name="valkey",
        command=(
            str(binaries.valkey()),
            *("--port", "0", "--unixsocket", str(folder.valkey_socket), "--unixsocketperm", "700"),
            *("--save", "", "--appendonly", "no", "--maxmemory-policy", "noeviction"),
            *("--dir", str(folder.logs), "--databases", "64", "--hz", "2"),
        ),
        environment={"PATH": os.environ.get("PATH", ""), "LC_ALL": "C", "TZ": "UTC"},
        log=folder.logs / "valkey.log",
    )


def answers(folder: folders.Folder) -> bool:
    """True when the embedded server answers."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(1)
        try:
            connection.connect(str(folder.valkey_socket))
            connection.sendall(b"PING\r\n")
            return connection.recv(16).startswith(b"+PONG")
        except OSError:
            return False


def require(url: str) -> None:
    """Refuses in one sentence when no server answers at `url`."""
    import redis  # noqa: PLC0415 - only for a server of your own; it would double the supervisor's memory

    end = time.monotonic() + 3
    while True:
        try:
            with redis.Redis.from_url(
                addresses.redis(url).client, socket_timeout=1, socket_connect_timeout=1
            ) as client:
                client.ping()
                return
        except (redis.RedisError, OSError) as error:
            if time.monotonic() > end:
                raise env.EnvError(f"REDIS_URL does not lead to a Redis or Valkey server: {error}") from error
        time.sleep(0.1)
