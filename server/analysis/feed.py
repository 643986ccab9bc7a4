"""Tells the readers of analyses on this node that one has changed."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager

from server.bus.base import AnalysisChanged, Bus, NodeMessage
from server.ids import MatchId


class AnalysisFeed:
    """The readers that wait for changes of analyses.

    The feed may report a change twice, or not at all if the bus loses its message. So a reader also
    polls the store.
    """

    def __init__(self, bus: Bus, node: str) -> None:
        self._bus = bus
        self._node = node
        self._waiting: dict[str, set[asyncio.Event]] = {}
        #: Set at each change of any analysis.
        self.any_changed = asyncio.Event()

    def publish(self, match: MatchId) -> None:
        """Reports a change to the readers on all nodes."""
        self._set(match)
        self._bus.publish(AnalysisChanged(self._node, match))

    def on_message(self, message: NodeMessage) -> None:
        """Handles a message of another node."""
        if isinstance(message, AnalysisChanged) and message.node != self._node:
            self._set(message.match)

    def _set(self, match: str) -> None:
        self.any_changed.set()
        for changed in self._waiting.get(match, ()):
            changed.set()

    @contextmanager
    def watch(self, match: MatchId) -> Iterator[asyncio.Event]:
        """Yields an event that is set at each change; the reader clears it before it reads."""
        changed = asyncio.Event()
        self._waiting.setdefault(match, set()).add(changed)
        try:
            yield changed
        finally:
            self._waiting[match].remove(changed)
            if not self._waiting[match]:
                del self._waiting[match]
