"""Named places where a test ends the process as `kill -9` would:
`PLYROOM_FAILPOINT=after_append:37`.

A crash at exactly such a place is rare by nature and is what a promise is about, so tests ask for
it.
"""

import os
import signal
from collections.abc import Callable

from server.settings import SettingError

#: Before a command's events go to the store; when they are committed and nobody knows; when all but
#: its sender know.
PLACES = ("before_append", "after_append", "before_ack")

Reached = Callable[[str], None]


def nowhere(place: str) -> None:
    """The usual: nothing happens anywhere."""


def kill_at(spec: str) -> Reached:
    """What to call with each place that is reached: the process dies at the n-th time at the place,
    for "place:n".

    SettingError for a text of another form.
    """
    if not spec:
        return nowhere
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
