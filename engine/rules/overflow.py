"""Words of uncompiled rules wrap, as compiled ones do: numpy, which would warn of it, is told not
to.
"""

from contextlib import AbstractContextManager, nullcontext

import numpy as np

_SILENT: AbstractContextManager[object] = nullcontext()
_overflow_ignored = False


def ignore_overflow() -> None:
    """Lets words wrap without a warning in this whole process, from its main thread on, instead of
    in each call.

    For a process that uses numpy for nothing else; call it before the event loop begins. It spares
    a server's move four changes of numpy's error state.
    """
    global _overflow_ignored
    np.seterr(over="ignore")
    _overflow_ignored = True


def wrapping() -> AbstractContextManager[object]:
    """The surroundings in which rules run."""
    return _SILENT if _overflow_ignored else np.errstate(over="ignore")
