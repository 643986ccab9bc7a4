"""Overflow of uncompiled rules: their words wrap as compiled ones do, without numpy's warning."""

from contextlib import AbstractContextManager, nullcontext

import numpy as np

_SILENT: AbstractContextManager[object] = nullcontext()
#: True after `ignore_overflow`.
is_ignored = False


def ignore_overflow() -> None:
    """Disables numpy's overflow warnings in this whole process, not only around each call.

    It is for a process that uses numpy for nothing else. Call it in the main thread before the
    event loop begins. It saves each move on a server four changes of numpy's error state.
    """
    global is_ignored
    np.seterr(over="ignore")
    is_ignored = True


def wrapping() -> AbstractContextManager[object]:
    """The context in which rules run: words wrap without a warning."""
    return _SILENT if is_ignored else np.errstate(over="ignore")
