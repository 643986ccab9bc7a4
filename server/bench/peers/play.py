"""Pairs that repeat a drawn match of tic-tac-toe on any peer, spectators, and the pace of moves."""

import asyncio
import random
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from server.bench.players import Player

#: The cells of a drawn match in the order of play: 0 is the lower left corner, 8 the upper right.
DRAWN_CELLS = (0, 1, 2, 4, 3, 5, 7, 6, 8)


class Pace:
    """Counts moves and latencies, and schedules the next move of each pair: at once, or after a
    random pause of 0.5 to 1.5 times `pause_s`.

    The latency of a move is the time from its sending until the opponent has received it. While
    held, as it is at first, the pace queues the moves until `release`.
    """

    def __init__(self, pause_s: float | None = None, seed: int = 1) -> None:
        self.moves = 0
        self.latencies_ms: list[float] = []
        self._pause_s = pause_s
        self._rng = random.Random(seed)
        self._is_open = True
        self._is_held = True
        self._waiting: list[Callable[[], None]] = []
        self._has_changed = asyncio.Event()

    def record(self, latency_ms: float) -> None:
        self.moves += 1
        self.latencies_ms.append(latency_ms)

    def schedule(self, move: Callable[[], None]) -> None:
        if not self._is_open:
            return
        if self._is_held:
            self._waiting.append(move)
            self._has_changed.set()
        elif self._pause_s is None:
            move()
        else:
            pause_s = self._pause_s * (0.5 + self._rng.random())
            asyncio.get_running_loop().call_later(pause_s, self._start, move)

    def _start(self, move: Callable[[], None]) -> None:
        """Starts a move whose pause is over."""
        if self._is_open:
            move()

    async def wait_for_held(self, pairs: int) -> None:
        """Waits until that many pairs are ready to move."""
        while len(self._waiting) < pairs:
            self._has_changed.clear()
            await self._has_changed.wait()

    def hold(self) -> None:
        """Holds the next moves until `release`."""
        self._is_held = True

    def release(self) -> None:
        """Schedules the moves that are held."""
        self._is_held = False
        waiting, self._waiting = self._waiting, []
        for move in waiting:
            self.schedule(move)

    def close(self) -> None:
        """Starts no more moves."""
        self._is_open = False


class Pair(ABC):
    """Two players of one peer who repeat the same match.

    A subclass speaks the peer's protocol. It calls `on_board` for each board that a player
    receives, and `on_started` when both players may play the next match.
    """

    def __init__(self, number: int, pace: Pace) -> None:
        self.number = number
        self.players: tuple[Player, Player]
        self.ply = 0
        self.first_mover = 0
        #: Called after the last move of a match.
        self.on_finished: Callable[[], None] = self.start_next_match
        self._pace = pace
        self._sent_s = 0.0

    @property
    def mover(self) -> int:
        """The player to move."""
        return (self.ply + self.first_mover) & 1

    @abstractmethod
    async def open(self, port: int) -> None:
        """Connects both players and starts the first match."""

    @abstractmethod
    def send_move(self, player: int, ply: int, cell: int) -> None:
        """Sends a move of that player; `ply` moves were played before it."""

    @abstractmethod
    def start_next_match(self) -> None:
        """Starts another match of the same players; `on_started` follows."""

    def move(self) -> None:
        """Sends the next move."""
        self._sent_s = time.perf_counter()
        self.send_move(self.mover, self.ply, DRAWN_CELLS[self.ply])

    def on_board(self, player: int, moves: int) -> None:
        """Handles a board with that many moves, which a player has received."""
        if player == self.mover or moves != self.ply + 1:
            return
        self._pace.record((time.perf_counter() - self._sent_s) * 1000)
        self.ply += 1
        if self.ply < len(DRAWN_CELLS):
            self._pace.schedule(self.move)
        else:
            self.on_finished()

    def on_started(self) -> None:
        """Schedules the first move of a match."""
        self.ply = 0
        self._pace.schedule(self.move)

    def close(self) -> None:
        for player in self.players:
            player.transport.abort()


class Spectator(ABC):
    """A connection of one peer that watches the matches of a pair."""

    def __init__(self, on_board: Callable[[int], None]) -> None:
        self.player: Player
        #: Called with the number of moves on each board received.
        self.on_board = on_board

    @abstractmethod
    async def open(self, port: int) -> None:
        """Connects."""

    @abstractmethod
    async def follow(self, pair: Pair) -> None:
        """Follows the pair's present match; returns when the peer has confirmed it."""

    def close(self) -> None:
        self.player.transport.abort()


@dataclass(frozen=True)
class Peer:
    """A server to compare: how to start it, and how its clients speak to it."""

    name: str
    #: The command, for a server with its files in that folder.
    command: Callable[[Path], tuple[str, ...]]
    make_pair: Callable[[int, Pace], Pair]
    make_spectator: Callable[[Callable[[int], None]], Spectator]
    environ: dict[str, str] = field(default_factory=dict)
    #: What an idle client sends, and how often in seconds; None sends nothing.
    ping: tuple[bytes, float] | None = None
    #: Time for which the server keeps a match in memory after its players have left, in seconds.
    match_retention_s: float = 0.0
