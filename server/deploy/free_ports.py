"""Ports for the programs that tests start, below those that the system gives to clients, which
could be first.
"""

import random
import socket
from contextlib import ExitStack

LOWEST, HIGHEST = 12_000, 32_000


def free_ports(count: int) -> list[int]:
    """Ports that nobody listens on, no two the same."""
    with ExitStack() as stack:
        ports: list[int] = []
        while len(ports) < count:
            probe = stack.enter_context(socket.socket())
            port = random.SystemRandom().randrange(LOWEST, HIGHEST)
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            ports.append(port)
        return ports


def free_port() -> int:
    """A port that nobody listens on."""
    return free_ports(1)[0]
