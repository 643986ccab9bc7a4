"""Checks of the other ends of a match: draws by rule, repetition, claims
(`engine.game.OptionalRules`).
"""

import random
from collections.abc import Iterator
from typing import Any

import numpy as np

from engine.conformance.playouts import expect, playouts, positions, spread
from engine.game import DRAWN, ONGOING, Game, Position, State

#: Positions from which a way back to the same position is searched.
SHUFFLED_POSITIONS = 40
#: Moves that are tried at each ply of that search.
TRIED_MOVES = 4
#: The answer of `reversible` in a game without irreversible moves; the search does not look
#: farther back.
EVERY_POSITION = 512


def check_draws(game: Game) -> None:
    """`drawn` is 0 or 1; where no move is left it is 0, unless `no_moves_result` is a draw too."""
    rules = game.rules
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
                    "where no move is left and no_moves_result is no draw, drawn is 0: "
                    "look for a move first",
                    where,
                )


def check_claims(game: Game) -> None:
    """A claim is a reason in words, or None; a finished match has none."""
    for position in positions(game):
        claim: object = position.claim()
        where = position.text()
        is_text = isinstance(claim, str) and 0 < len(claim) <= 100 and claim.isprintable()
        expect(claim is None or is_text, "a claim is a short line, or None", where, repr(claim))
        expect(
            claim is None or position.outcome() is None,
            "nothing is claimed after the end",
            where,
            claim,
        )


def check_repetition(game: Game) -> None:
    """Positions with equal repetition keys are the same to play; none repeats across the last
    irreversible move; and the declared number of occurrences ends a match.
    """
    rules: Any = game.rules
    if rules.repetition is None:
        return
    seen: dict[tuple[object, int], tuple[object, ...]] = {}
    for line in playouts(game):
        first: dict[int, int] = {}
        floor = 0
        for ply, position in enumerate(line):
            with np.errstate(over="ignore"):
                key, back = (
                    int(rules.repetition(position.state)),
                    int(rules.reversible(position.state)),
                )
                alike = what_counts(position)
            where = position.text()
            is_known = 0 <= back <= ply or back >= EVERY_POSITION
            expect(
                is_known,
                "reversible is no more than the plies that were made, or 512 for all",
                where,
                back,
                ply,
            )
            floor = max(floor, ply - back)
            before = first.setdefault(key, ply)
            expect(
                before >= floor,
                "what reversible rules out does not come again",
                where,
                f"plies {before} and {ply}",
            )
            options = tuple(sorted(position.options.items()))
            same = seen.setdefault((options, key), alike)
            expect(
                same == alike,
                "equal keys of repetition are the same position to play",
                where,
                same,
                alike,
            )
    if rules.counts_repetitions:
        check_repetition_ends(game)


def what_counts(position: Position) -> tuple[object, ...]:
    """The features that make two positions the same: the side to move, the pieces and the moves."""
    rules: Any = position.game.rules
    moves: list[int] = []
    if int(rules.status(position.state)) == ONGOING:
        buffer = [0] * rules.MAX_MOVES
        moves = sorted(int(move) for move in buffer[: int(rules.moves(position.state, buffer))])
    pieces = tuple(sorted(rules.view(position.state, None).pieces.items()))
    return int(rules.turn(position.state)), pieces, tuple(moves)


def check_repetition_ends(game: Game) -> None:
    """Where both sides can move to and fro, the match ends, and a draw may be claimed, at the
    declared occurrence.
    """
    found = next(shuffles(game), None)
    if found is None:
        return
    begin, moves = found
    position, rules = begin, game.rules
    for ply in range(1, len(moves) * max(rules.REPETITION, rules.CLAIM_REPETITION) + 1):
        position = position.play(moves[(ply - 1) % len(moves)])
        times = 1 + ply // len(moves) if ply % len(moves) == 0 else 0
        outcome = position.outcome()
        where = f"{begin.text()}, then {' '.join(map(str, moves))} to and fro"
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
                "a repetition is a draw and the end",
                where,
                outcome,
            )
            return


def shuffles(game: Game) -> Iterator[tuple[Position, tuple[int, ...]]]:
    """Positions, without their past, with moves that lead back to them."""
    yield from _cycles(game)
    rules: Any = game.rules
    chance = random.Random(4)
    live = [position for position in positions(game) if position.moves()]
    for position in reversed(spread(live, SHUFFLED_POSITIONS)):
        own = OwnPieces(position)
        with np.errstate(over="ignore"):
            home = int(rules.repetition(position.state))
            for a, after_a in _steps(rules, position.state, chance, TRIED_MOVES):
                for b, after_b in _steps(rules, after_a, chance, TRIED_MOVES):
                    for c, after_c in _steps(rules, after_b, chance, rules.MAX_MOVES):
                        if own.of(after_c) != own.at_home:
                            continue  # the first move was not taken back
                        for d, after_d in _steps(rules, after_c, chance, rules.MAX_MOVES):
                            if int(rules.repetition(after_d)) == home:
                                yield Position(game, position.options, position.state), (a, b, c, d)


def _cycles(game: Game) -> Iterator[tuple[Position, tuple[int, ...]]]:
    """The cycles of the random matches: the moves from one occurrence of a position to another."""
    rules: Any = game.rules
    for line in playouts(game):
        first: dict[int, int] = {}
        with np.errstate(over="ignore"):
            keys = [int(rules.repetition(position.state)) for position in line]
        for ply, key in enumerate(keys):
            begin = first.setdefault(key, ply)
            if begin < ply and line[ply].moves():
                moves = tuple(
                    position.last[1]
                    for position in line[begin + 1 : ply + 1]
                    if position.last is not None
                )
                yield Position(game, line[begin].options, line[begin].state), moves


class OwnPieces:
    """The pieces of the side to move in a position, found there and in other states."""

    def __init__(self, position: Position) -> None:
        self._rules: Any = position.game.rules
        kinds = position.game.board(position.options).kinds
        self._kinds = {name for name, kind in kinds.items() if kind.side == position.turn}
        self.at_home = self.of(position.state)

    def of(self, state: State) -> dict[str, str]:
        pieces = self._rules.view(state, None).pieces
        return {cell: kind for cell, kind in pieces.items() if kind in self._kinds}


def _steps(rules: Any, state: State, chance: random.Random, count: int) -> list[tuple[int, State]]:
    """Some moves that can be taken back, and the states that they lead to."""
    if int(rules.status(state)) != ONGOING or (rules.drawn is not None and rules.drawn(state)):
        return []
    buffer = [0] * rules.MAX_MOVES
    moves = [int(move) for move in buffer[: int(rules.moves(state, buffer))]]
    chance.shuffle(moves)
    after = [(move, rules.play(state, move)) for move in moves[:count]]
    return [(move, there) for move, there in after if int(rules.reversible(there)) > 0]
