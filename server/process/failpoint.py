"""Named places where a test kills the process like `kill -9`: `PLYROOM_FAILPOINT=after_append:37`.

The durability promises hold even if a node dies at one of these places. Such a crash is rare in
practice, so tests force it.
"""

import os
import signal
from collections.abc import Callable

from server.settings import SettingError

#: The places: before the events go to the store; after the commit, before the server sends
#: anything; and after it has sent the events to all followers except the sender of the command.
PLACES = ("before_append", "after_append", "before_ack")

#: Called with the name of each place that the server reaches.
Failpoint = Callable[[str], None]


def no_failpoint(place: str) -> None:
    """Does nothing: no failpoint is set."""


def make_failpoint(spec: str) -> Failpoint:
    """Returns the function that the server calls at each place.

    With a `spec` of the form "place:n", the function kills the process when it is called with that
    place for the n-th time. Raises SettingError for an invalid `spec`.
    """
    if not spec:
        return no_failpoint
    place, _, number = spec.partition(":")
    if place not in PLACES or not number.isascii() or not number.isdigit() or int(number) < 1:
        raise SettingError(
            f"a failpoint is one of {', '.join(PLACES)}, a colon and a number from 1 up"
        )
    remaining = int(number)

    def reached(name: str) -> None:
        nonlocal remaining
        if name == place:
            remaining -= 1
            if remaining == 0:
                os.kill(os.getpid(), signal.SIGKILL)

    return reached
