"""Imported once by the fork server, so that a worker starts in a tenth of a second. No games: those
may be edited.
"""

import signal

signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C in a terminal reaches the whole process group

from numba.core.registry import cpu_target  # noqa: E402

from engine.search import driver  # noqa: E402, F401

cpu_target.typing_context.refresh()
cpu_target.target_context.refresh()
