"""The modules that the fork server imports once, so that a worker starts in 0.1 s.

Games are not among them, because their files may be edited while the server runs.
"""

import signal

signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C in a terminal reaches the whole process group

from numba.core.registry import cpu_target  # noqa: E402

from engine.compiler.inlining import template_functions  # noqa: E402
from engine.search import driver, kernel  # noqa: E402, F401

cpu_target.typing_context.refresh()
cpu_target.target_context.refresh()
template_functions(kernel)
