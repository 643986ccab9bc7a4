"""Lets uncompiled rules overflow without numpy's warning, as compiled rules do."""

from contextlib import AbstractContextManager, nullcontext

import numpy as np

_NO_CHANGE: AbstractContextManager[object] = nullcontext()
#: True after `ignore_overflow`.
is_ignored = False


def ignore_overflow() -> None:
    """Disables numpy's overflow warnings in the whole process instead of around each call.

    Call it in the main thread before the event loop starts, and only in a process that uses numpy
    for nothing else. It saves a server four changes of numpy's error state for each move.
    """
    global is_ignored
    np.seterr(over="ignore")
    is_ignored = True


def wrapping() -> AbstractContextManager[object]:
    """Returns the context in which uncompiled rules run: words wrap without a warning."""
    return _NO_CHANGE if is_ignored else np.errstate(over="ignore")
