"""The chance to win against the results of stored matches: `plyroom calibration`.

A prediction is the chance to win that players saw for the score of an AI's search; the result is
that of the match for this AI. Only the moves in the final line of a match count, and only those of
seats at a level: personas and strategies report other values. Aborted and abandoned matches do not
count.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import msgspec
from msgspec import Struct
from sqlalchemy import Connection, select

from engine.calibration import BINS, cross_entropy, make_bins, shown_chance
from engine.game import Game, UnknownGame
from engine.rules.measured import Bin
from engine.win_chance import is_forced, scale_of
from server.events import Moved, Occupant, parse_event_body
from server.protocol.wording import StoredThought
from server.rooms.model import MatchResult
from server.store import tables as t

#: Number of matches in a batch of rows.
BATCH = 500
#: The least number of matches of a game that can judge its predictions.
ENOUGH_MATCHES = 100
#: The ends of matches whose results count (`Finished.how`).
COUNTED_ENDS = ("board", "resign", "claim", "agreement")

_decode_seats = msgspec.json.Decoder(list[Occupant]).decode
_decode_result = msgspec.json.Decoder(MatchResult).decode
_decode_thought = msgspec.json.Decoder(StoredThought).decode

#: Returns the game with an id, or raises UnknownGame.
FindGame = Callable[[str], Game]


class Calibration(Struct, frozen=True):
    """The predictions for a game against the results of its matches.

    `positions` counts the predictions, except those of a forced end. `forced` counts forced wins
    and losses; `forced_right` is the share of these predictions that came true. `loss` is the mean
    cross entropy in nats, and `even_loss` that of a constant prediction of one half.
    """

    game: str
    matches: int
    draws: int
    positions: int
    loss: float
    even_loss: float
    forced: int
    forced_right: float
    bins: tuple[Bin, ...]

    @property
    def has_enough_matches(self) -> bool:
        """Whether the matches are enough to judge the predictions."""
        return self.matches >= ENOUGH_MATCHES


@dataclass
class _Samples:
    """The scores of a game's moves with the results for their movers."""

    game: Game
    matches: int = 0
    draws: int = 0
    predicted: list[float] = field(default_factory=list)
    results: list[float] = field(default_factory=list)
    #: For each prediction of a forced end, whether it came true.
    forced: list[bool] = field(default_factory=list)

    def add(self, score: int, result: float) -> None:
        """Adds the score of a move."""
        if is_forced(score):
            self.forced.append(result == (score > 0))
        else:
            self.predicted.append(shown_chance(score, scale_of(self.game)))
            self.results.append(result)

    def calibration(self) -> Calibration:
        """Returns the comparison of the predictions with the results."""
        count = len(self.results)
        return Calibration(
            game=self.game.id, matches=self.matches, draws=self.draws, positions=count,
            loss=cross_entropy(self.predicted, self.results) if count else 0.0,
            even_loss=cross_entropy([0.5] * count, self.results) if count else 0.0,
            forced=len(self.forced),
            forced_right=sum(self.forced) / len(self.forced) if self.forced else 1.0,
            bins=tuple(make_bins(self.predicted, self.results)),
        )  # fmt: skip


def calibrate(
    connection: Connection,
    find_game: FindGame,
    min_level: int = 1,
    report_progress: Callable[[int, int], None] = lambda done, total: None,
) -> list[Calibration]:
    """Returns the calibration of each game with finished matches of an AI at `min_level` or above.

    It leaves out games that are not installed.
    """
    samples: dict[str, _Samples] = {}
    done = 0
    for batch in _finished_matches(connection):
        scores = _scores(connection, batch)
        for match in batch:
            _add_match(samples, match, scores.get(match.id, {}), find_game, min_level)
        done += len(batch)
        report_progress(done, 0)
    return [samples[game].calibration() for game in sorted(samples)]


def _finished_matches(connection: Connection) -> Iterator[list[Any]]:
    """Yields the rows of the finished matches in batches, in the order of their ids."""
    c = t.matches.c
    query = (
        select(c.id, c.game, c.seats, c.over, c.plies)
        .where(c.over.is_not(None))
        .order_by(c.id)
        .limit(BATCH)
    )
    batch = connection.execute(query).all()
    while batch:
        yield list(batch)
        batch = connection.execute(query.where(c.id > batch[-1].id)).all()


def _scores(
    connection: Connection, matches: Iterable[Any]
) -> dict[str, dict[int, tuple[int, StoredThought]]]:
    """Returns the seat and the last thought at each ply of the matches."""
    m, h, e = t.matches.c, t.thoughts.c, t.events.c
    query = (
        select(h.match, h.ply, h.body, e.body.label("event"))
        .join(t.matches, m.id == h.match)
        .join(t.events, (e.room == m.room) & (e.v == h.v))
        .where(h.match.in_([match.id for match in matches]))
        .order_by(h.match, h.v)
    )
    found: dict[str, dict[int, tuple[int, StoredThought]]] = {}
    for row in connection.execute(query):
        event = parse_event_body(row.event)
        if isinstance(event, Moved):
            thought = _decode_thought(row.body)
            found.setdefault(row.match, {})[row.ply] = (event.seat, thought)
    return found


def _add_match(
    samples: dict[str, _Samples],
    match: Any,
    thoughts: dict[int, tuple[int, StoredThought]],
    find_game: FindGame,
    min_level: int,
) -> None:
    """Adds the scores of a match to the samples of its game."""
    result, seats = _decode_result(match.over), _decode_seats(match.seats)
    levels = [seat.level if seat.kind == "ai" else None for seat in seats]
    counted = [
        (seat, thought.score)
        for ply, (seat, thought) in thoughts.items()
        if ply < (match.plies or 0)
        and (levels[seat] or 0) >= min_level
        and thought.depth
        and not thought.value
    ]
    if result.how not in COUNTED_ENDS or not counted:
        return
    if match.game not in samples:
        try:
            samples[match.game] = _Samples(find_game(match.game))
        except UnknownGame:
            return
    of_game = samples[match.game]
    of_game.matches += 1
    of_game.draws += result.winner is None
    for seat, score in counted:
        of_game.add(score, 0.5 if result.winner is None else float(result.winner == seat))


def format_calibration(calibration: Calibration) -> str:
    """Returns a calibration as text; it says so if the matches are too few."""
    lines = [
        f"{calibration.game}: {calibration.matches:,} match{'es' * (calibration.matches != 1)}"
        f" ({calibration.draws:,} drawn), {calibration.positions:,} positions"
    ]
    if not calibration.has_enough_matches:
        lines.append(f"  These are too few matches to judge; {ENOUGH_MATCHES} or more are enough")
    if calibration.positions:
        lines.append(
            f"  loss {calibration.loss:.4f} nats; a chance of one half everywhere has"
            f" {calibration.even_loss:.4f}"
        )
        lines.append("  predicted  mean prediction  mean result  positions")
    for number, each in enumerate(calibration.bins):
        if each.positions:
            name = f"{100 * number // BINS}-{100 * (number + 1) // BINS} %"
            lines.append(
                f"  {name:>9}  {100 * each.predicted:13.0f} %  {100 * each.scored:9.0f} %"
                f"  {each.positions:9,}"
            )
    if calibration.forced:
        lines.append(
            f"  {calibration.forced:,} forced wins and losses,"
            f" {100 * calibration.forced_right:.1f} % of which ended so"
        )
    return "\n".join(lines) + "\n"
