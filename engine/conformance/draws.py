"""Checks of the optional ends of a match: draws by rule, repetitions and claims
(`engine.game.OptionalRules`).
"""

import random
from collections.abc import Iterator
from typing import Any

import numpy as np

from engine.conformance.playouts import expect, playouts, positions, spread
from engine.game import DRAWN, ONGOING, Game, Position, State

#: Positions from which a cycle of moves back to the same position is searched.
CYCLE_POSITIONS = 40
#: Moves that are tried at each of the first two plies of such a cycle.
CYCLE_MOVES = 4
#: The value of `reversible` in a game without irreversible moves, and the maximum number of earlier
#: positions of the match that the search remembers.
EVERY_POSITION = 512


def check_draws(game: Game) -> None:
    """A game with CAN_BE_DRAWN = False never ends in a draw, and neither does one with options for
    which `can_be_drawn` is false. `drawn` is 0 or 1; without legal moves it is 0, unless
    `no_moves_result` is also a draw.
    """
    rules = game.rules
    if not rules.CAN_BE_DRAWN or rules.can_be_drawn is not None:
        for position in positions(game):
            if game.can_be_drawn(position.options):
                continue
            outcome = position.outcome()
            is_decided = outcome is None or outcome.winner is not None
            expect(is_decided, "no match is a draw if CAN_BE_DRAWN is False", position.text())
    if rules.drawn is None:
        return
    with np.errstate(over="ignore"):
        for position in positions(game):
            if rules.status(position.state) != ONGOING:
                continue
            drawn, where = int(rules.drawn(position.state)), position.text()
            expect(drawn in (0, 1), "drawn is 0 or 1", where, drawn)
            if drawn and not int(rules.moves(position.state, [0] * rules.MAX_MOVES)):
                is_draw = int(rules.no_moves_result(position.state)) == DRAWN
                expect(
                    is_draw,
                    "if there are no moves and no_moves_result is not a draw, drawn is 0: "
                    "look for a move first",
                    where,
                )


def check_claims(game: Game) -> None:
    """A claim is a short reason, or None; a finished match has none."""
    for position in positions(game):
        claim: object = position.claim()
        where = position.text()
        is_text = isinstance(claim, str) and 0 < len(claim) <= 100 and claim.isprintable()
        expect(claim is None or is_text, "a claim is a short line, or None", where, repr(claim))
        expect(
            claim is None or position.outcome() is None,
            "a finished match has no claim",
            where,
            claim,
        )


def check_repetition(game: Game) -> None:
    """Positions with equal repetition keys are the same; none repeats across an irreversible move;
    and the declared occurrence ends the match.
    """
    rules: Any = game.rules
    if rules.repetition is None:
        return
    seen: dict[tuple[object, int], tuple[object, ...]] = {}
    for line in playouts(game):
        first_plies: dict[int, int] = {}
        oldest = 0
        for ply, position in enumerate(line):
            with np.errstate(over="ignore"):
                key, reversible_plies = (
                    int(rules.repetition(position.state)),
                    int(rules.reversible(position.state)),
                )
                identity = identity_of(position)
            where = position.text()
            is_possible = 0 <= reversible_plies <= ply or reversible_plies >= EVERY_POSITION
            expect(
                is_possible,
                "reversible is at most the number of plies so far, or 512 for all",
                where,
                reversible_plies,
                ply,
            )
            oldest = max(oldest, ply - reversible_plies)
            first_ply = first_plies.setdefault(key, ply)
            expect(
                first_ply >= oldest,
                "a position does not repeat across an irreversible move",
                where,
                f"plies {first_ply} and {ply}",
            )
            options = tuple(sorted(position.options.items()))
            earlier = seen.setdefault((options, key), identity)
            expect(
                earlier == identity,
                "positions with equal repetition keys are the same",
                where,
                earlier,
                identity,
            )
    if rules.counts_repetitions:
        check_repetition_ends(game)


def identity_of(position: Position) -> tuple[object, ...]:
    """Returns what two equal positions share: the side to move, the pieces and the legal moves."""
    rules: Any = position.game.rules
    moves: list[int] = []
    if int(rules.status(position.state)) == ONGOING:
        buffer = [0] * rules.MAX_MOVES
        moves = sorted(int(move) for move in buffer[: int(rules.moves(position.state, buffer))])
    pieces = tuple(sorted(rules.view(position.state, None).pieces.items()))
    return int(rules.turn(position.state)), pieces, tuple(moves)


def check_repetition_ends(game: Game) -> None:
    """Repeats a cycle of moves: at the declared occurrence of a position the match ends, or a draw
    may be claimed.
    """
    cycle = next(find_cycles(game), None)
    if cycle is None:
        return
    start, moves = cycle
    position, rules = start, game.rules
    for ply in range(1, len(moves) * max(rules.REPETITION, rules.CLAIM_REPETITION) + 1):
        position = position.play(moves[(ply - 1) % len(moves)])
        times = 1 + ply // len(moves) if ply % len(moves) == 0 else 0
        outcome = position.outcome()
        where = f"{start.text()}, then {' '.join(map(str, moves))} repeatedly"
        if times and times == rules.CLAIM_REPETITION and outcome is None:
            expect(
                position.claim(), "a draw may be claimed at the declared occurrence", where, times
            )
        if times and times == rules.REPETITION:
            expect(
                outcome is not None,
                "the declared occurrence of a position ends the match",
                where,
                times,
            )
        if outcome is not None:
            is_draw = outcome.winner is None and not position.moves()
            expect(
                is_draw and position.view().turn is None,
                "a repetition ends the match as a draw",
                where,
                outcome,
            )
            return


def find_cycles(game: Game) -> Iterator[tuple[Position, tuple[int, ...]]]:
    """Yields positions without their history, each with a cycle of moves that leads back to it."""
    yield from _played_cycles(game)
    rules: Any = game.rules
    rng = random.Random(4)
    live = [position for position in positions(game) if position.moves()]
    for position in reversed(spread(live, CYCLE_POSITIONS)):
        own_pieces = OwnPieces(position)
        with np.errstate(over="ignore"):
            key = int(rules.repetition(position.state))
            for a, after_a in _reversible_moves(rules, position.state, rng, CYCLE_MOVES):
                for b, after_b in _reversible_moves(rules, after_a, rng, CYCLE_MOVES):
                    for c, after_c in _reversible_moves(rules, after_b, rng, rules.MAX_MOVES):
                        if own_pieces.find(after_c) != own_pieces.pieces:
                            continue  # the first move was not taken back
                        for d, after_d in _reversible_moves(rules, after_c, rng, rules.MAX_MOVES):
                            if int(rules.repetition(after_d)) == key:
                                yield Position(game, position.options, position.state), (a, b, c, d)


def _played_cycles(game: Game) -> Iterator[tuple[Position, tuple[int, ...]]]:
    """Yields the cycles of the random matches: from one occurrence of a position to another."""
    rules: Any = game.rules
    for line in playouts(game):
        first_plies: dict[int, int] = {}
        with np.errstate(over="ignore"):
            keys = [int(rules.repetition(position.state)) for position in line]
        for ply, key in enumerate(keys):
            start = first_plies.setdefault(key, ply)
            if start < ply and line[ply].moves():
                moves = tuple(
                    position.last[1]
                    for position in line[start + 1 : ply + 1]
                    if position.last is not None
                )
                yield Position(game, line[start].options, line[start].state), moves


class OwnPieces:
    """The pieces of a position's side to move; `find` returns them in other states."""

    def __init__(self, position: Position) -> None:
        self._rules: Any = position.game.rules
        kinds = position.game.board(position.options).kinds
        self._kinds = {name for name, kind in kinds.items() if kind.side == position.turn}
        self.pieces = self.find(position.state)

    def find(self, state: State) -> dict[str, str]:
        pieces = self._rules.view(state, None).pieces
        return {cell: kind for cell, kind in pieces.items() if kind in self._kinds}


def _reversible_moves(
    rules: Any, state: State, rng: random.Random, count: int
) -> list[tuple[int, State]]:
    """Returns up to `count` random reversible moves with the states that they lead to."""
    if int(rules.status(state)) != ONGOING or (rules.drawn is not None and rules.drawn(state)):
        return []
    buffer = [0] * rules.MAX_MOVES
    moves = [int(move) for move in buffer[: int(rules.moves(state, buffer))]]
    rng.shuffle(moves)
    after = [(move, rules.play(state, move)) for move in moves[:count]]
    return [
        (move, state_after) for move, state_after in after if int(rules.reversible(state_after)) > 0
    ]
