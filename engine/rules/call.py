"""Calls into a rules file: an exception becomes a GameFault that names the hook.

A rule that does not return can only be interrupted from within: a signal handler may raise
RuleInterrupted in a frame that was called, directly or not, from the `with` statement of an open
call, and the call turns it into GameHung. A server's handler is in `server.process.watchdog`.
"""

import sys
from types import FrameType, TracebackType

import numpy as np

from engine.rules import overflow
from engine.rules.errors import GameFault, GameHung, RuleInterrupted

#: The calls of all threads that have not returned, by the frame of their `with` statement.
open_calls: dict[FrameType, "RulesCall"] = {}
#: The games of which this process calls no rule again, by id, with the reason in words.
refused_games: dict[str, str] = {}

_frame = sys._getframe


class RulesCall:
    """The context of a call into a rules file: integers wrap, and an exception becomes a GameFault.

    The fault names the hook that failed; a context around several calls sets `hook` before each.
    The `with` statement of a refused game raises GameHung instead of calling its rules.
    """

    __slots__ = ("_wrapping", "game_id", "hook")

    #: Exceptions that propagate unchanged.
    PROPAGATED: tuple[type[Exception], ...] = ()

    def __init__(self, game_id: str, hook: str) -> None:
        self.game_id = game_id
        self.hook = hook

    def __enter__(self) -> "RulesCall":
        if refused_games and self.game_id in refused_games:
            raise GameHung(refused_games[self.game_id])
        if not overflow.is_ignored:
            self._wrapping = np.errstate(over="ignore")
            self._wrapping.__enter__()
        # Last, and first in `__exit__`: a frame that is missing here is not interrupted.
        open_calls[_frame(1)] = self
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        open_calls.pop(_frame(1), None)
        if not overflow.is_ignored:
            self._wrapping.__exit__(kind, error, traceback)
        if error is not None:
            self._translate(error)

    def _translate(self, error: BaseException) -> None:
        """Raises the fault that an exception of the rules becomes; returns if it propagates."""
        if not isinstance(error, Exception | RuleInterrupted):
            return
        # The rules may have caught the interruption and raised anything else.
        if self.game_id in refused_games:
            raise GameHung(refused_games[self.game_id]) from error
        if isinstance(error, RuleInterrupted):  # of a game that called the rules of this one
            raise GameHung(str(error)) from error
        if isinstance(error, (*self.PROPAGATED, GameHung)):
            return
        cause = f"{type(error).__name__}: {error}"
        raise GameFault(f"the rules of {self.game_id} failed in {self.hook}: {cause}") from error


class ParsingCall(RulesCall):
    """A call that parses a text: a ValueError, which says what is wrong with it, propagates."""

    __slots__ = ()

    PROPAGATED = (ValueError,)
