"""Named places where a test kills the process like `kill -9`: `PLYROOM_FAILPOINT=after_append:37`.

A crash at exactly such a place is rare in practice, and the durability promises are about it, so
tests force it.
"""

import os
import signal
from collections.abc import Callable

from server.settings import SettingError

#: The places: before the events go to the store; after the commit, when nobody has been informed;
#: and when every follower except the sender has been.
PLACES = ("before_append", "after_append", "before_ack")

#: Called with the name of each place that is reached.
Reached = Callable[[str], None]


def no_failpoint(place: str) -> None:
    """The default: does nothing."""


def kill_at(spec: str) -> Reached:
    """The function to call at each place.

    For "place:n" it kills the process at the n-th call with that place.

    Raises SettingError for a text of another form.
    """
    if not spec:
        return no_failpoint
    place, _, number = spec.partition(":")
    if place not in PLACES or not number.isascii() or not number.isdigit() or int(number) < 1:
        raise SettingError(
            f"a failpoint is one of {', '.join(PLACES)}, a colon and a number from 1 up"
        )
    left = int(number)

    def reached(here: str) -> None:
        nonlocal left
        if here == place:
            left -= 1
            if left == 0:
                os.kill(os.getpid(), signal.SIGKILL)

    return reached
