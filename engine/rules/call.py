"""Calls into a rules file: an exception becomes a GameFault that names the hook."""

from types import TracebackType

import numpy as np

from engine.rules import overflow
from engine.rules.errors import GameFault


class RulesCall:
    """The context of a call into a rules file: integers wrap, and an exception becomes a GameFault.

    The fault names the hook that failed; a context around several calls sets `hook` before each.
    """

    __slots__ = ("_wrapping", "game_id", "hook")

    #: Exceptions that propagate unchanged.
    PROPAGATED: tuple[type[Exception], ...] = ()

    def __init__(self, game_id: str, hook: str) -> None:
        self.game_id = game_id
        self.hook = hook

    def __enter__(self) -> "RulesCall":
        if not overflow.is_ignored:
            self._wrapping = np.errstate(over="ignore")
            self._wrapping.__enter__()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if not overflow.is_ignored:
            self._wrapping.__exit__(kind, error, traceback)
        if isinstance(error, Exception) and not isinstance(error, self.PROPAGATED):
            cause = f"{type(error).__name__}: {error}"
            raise GameFault(
                f"the rules of {self.game_id} failed in {self.hook}: {cause}"
            ) from error


class ParsingCall(RulesCall):
    """A call that parses a text: a ValueError, which says what is wrong with it, propagates."""

    __slots__ = ()

    PROPAGATED = (ValueError,)
