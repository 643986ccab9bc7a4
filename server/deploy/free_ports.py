"""Free ports for the programs that tests and benchmarks start.

They lie below the ephemeral range, whose ports the system may assign to clients at any time.
"""

import random
import socket
from contextlib import ExitStack

#: The lowest port that is tried.
LOWEST = 12_000
#: The end of the range of ports, itself not tried.
END = 32_000

#: The ports that this process has returned: their programs may not listen yet.
_returned: set[int] = set()


def free_ports(count: int) -> list[int]:
    """Ports that no program listens on; one process never gets the same port twice."""
    with ExitStack() as stack:
        ports: list[int] = []
        while len(ports) < count:
            port = random.SystemRandom().randrange(LOWEST, END)
            if port in _returned:
                continue
            probe = stack.enter_context(socket.socket())
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            _returned.add(port)
            ports.append(port)
        return ports


def free_port() -> int:
    """A port that no program listens on."""
    return free_ports(1)[0]
