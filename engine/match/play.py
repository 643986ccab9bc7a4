"""Plays one game between two players, with clocks and adjudication."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from engine.game import Game, GameError, Position
from engine.match.description import Clock

#: Milliseconds by which a player may exceed its clock, because pipes and a busy machine take time.
GRACE_MS = 250


class PlayerFailed(Exception):
    """A player gave no legal move and loses the game; the message says why."""


@dataclass(frozen=True, slots=True)
class Situation:
    """The position in which a player chooses a move, with the game so far."""

    start: Position
    moves: Sequence[str]
    position: Position
    seed: int
    #: The time left on both clocks, the player's own first; None without clocks.
    clocks_ms: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True)
class Choice:
    """A player's move as a token, its score and the nodes searched.

    The score is None if the player reported none; a forced win scores MATE minus its plies.
    """

    move: str
    score: int | None = None
    nodes: int = 0


class Player(Protocol):
    """A player of the match; it plays one game at a time."""

    clock: Clock | None

    def begin(self, seat: int) -> None:
        """Starts a new game and forgets the last one; PlayerFailed if that is impossible."""

    def choose(self, situation: Situation) -> Choice:
        """The move to play; PlayerFailed if there is none."""

    def close(self) -> None:
        """Ends the programs that the player has started."""


@dataclass(frozen=True, slots=True)
class Adjudication:
    """When a game ends other than by its rules.

    At `max_plies` it is a draw. With `score`, a side wins as soon as both players have reported for
    `plies` moves in a row that it is ahead by at least that score.
    """

    max_plies: int = 400
    score: int | None = None
    plies: int = 8


@dataclass(slots=True)
class PlayedGame:
    """A game that has ended."""

    moves: list[str]
    #: The winner's seat; None for a draw.
    winner: int | None
    reason: str
    #: Whether the loser failed, rather than lost on the board.
    forfeit: bool = False
    nodes: list[int] = field(default_factory=lambda: [0, 0])
    time_ms: list[int] = field(default_factory=lambda: [0, 0])


def play_game(
    game: Game,
    options: dict[str, str],
    opening: Sequence[str],
    players: tuple[Player, Player],
    seed: int,
    rule: Adjudication,
    clock: Callable[[], float] = time.perf_counter,
) -> PlayedGame:
    """Plays a game from the opening to its end; `players` are in the order of seats.

    A player that fails loses the game; its error is not raised.
    """
    running = _RunningGame(game, options, opening, players, rule, clock)
    for seat, player in enumerate(players):
        try:
            player.begin(seat)
        except PlayerFailed as error:
            return running.forfeit(seat, str(error))
    while True:
        played = running.end_by_rules() or running.play_move(seed)
        if played:
            return played


class _RunningGame:
    """The state of one game in play."""

    def __init__(
        self,
        game: Game,
        options: dict[str, str],
        opening: Sequence[str],
        players: tuple[Player, Player],
        rule: Adjudication,
        clock: Callable[[], float],
    ) -> None:
        self._start = self._position = game.start(options)
        self._moves: list[str] = []
        for token in opening:
            self._moves.append(token)
            self._position = self._position.play(self._position.parse_move(token))
        self._players = players
        self._rule = rule
        self._clock = clock
        self._left_ms = [player.clock.base_ms if player.clock else 0 for player in players]
        self._leads: list[int] = []
        self._movers: list[int] = []
        self._played = PlayedGame(self._moves, None, "")

    def end_by_rules(self) -> PlayedGame | None:
        """Ends the game by its rules, a claimed draw or adjudication; None if it continues."""
        outcome = self._position.outcome()
        if outcome is not None:
            return self.end(outcome.winner, outcome.reason)
        if (claim := self._position.claim()) is not None:
            return self.end(None, f"claimed: {claim}")
        if len(self._moves) >= self._rule.max_plies:
            return self.end(None, f"{self._rule.max_plies} plies")
        if self._rule.score is None:
            return None
        latest = self._leads[-self._rule.plies :]
        movers = set(self._movers[-self._rule.plies :])
        if len(latest) < self._rule.plies or len(movers) < 2:
            return None
        if min(latest) >= self._rule.score:
            return self.end(0, "adjudicated by both scores")
        if max(latest) <= -self._rule.score:
            return self.end(1, "adjudicated by both scores")
        return None

    def play_move(self, seed: int) -> PlayedGame | None:
        """Plays a move of the side to move; returns the end if the player fails, else None."""
        seat = self._position.turn
        player = self._players[seat]
        clocks = (self._left_ms[seat], self._left_ms[1 - seat]) if player.clock else None
        start_s = self._clock()
        try:
            choice = player.choose(
                Situation(self._start, tuple(self._moves), self._position, seed, clocks)
            )
            move = self._position.parse_move(choice.move)
        except PlayerFailed as error:
            return self.forfeit(seat, str(error))
        except GameError as error:
            return self.forfeit(seat, f"illegal move: {error}")
        spent_ms = round((self._clock() - start_s) * 1000)
        self._played.time_ms[seat] += spent_ms
        self._played.nodes[seat] += choice.nodes
        if player.clock:
            self._left_ms[seat] -= spent_ms
            if self._left_ms[seat] < -GRACE_MS:
                return self.forfeit(seat, f"out of time by {-self._left_ms[seat]} ms")
            self._left_ms[seat] = max(self._left_ms[seat], 0) + player.clock.increment_ms
        self._leads.append((choice.score or 0) * (1 - 2 * seat))
        self._movers.append(seat)
        self._moves.append(self._position.format_move(move))
        self._position = self._position.play(move)
        return None

    def forfeit(self, seat: int, reason: str) -> PlayedGame:
        """Ends the game as lost by the player in this seat, which failed."""
        self._played.forfeit = True
        return self.end(1 - seat, reason)

    def end(self, winner: int | None, reason: str) -> PlayedGame:
        """Records the result and returns the ended game."""
        self._played.winner, self._played.reason = winner, reason
        return self._played
