"""python -m engine.conformance GAME...: the checks that every game must pass, yours included.

Each check takes a game, plays a few hundred random positions of it (with a fixed seed) and raises
ConformanceError with the position when a promise of `engine.game.Rules` is broken. CHECKS need the
rules only, TIMED_CHECKS measure them, and NATIVE_CHECKS compile them as well. The command runs all
of them, in a separate process (see `engine.conformance.run`).
"""

import argparse
import random
import re
import sys
from collections.abc import Callable, Iterator
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np

from engine.conformance.draws import check_claims, check_draws, check_repetition
from engine.conformance.native import check_compiled_rules, check_no_floats, check_search, data_of
from engine.conformance.playouts import (
    PLAYOUTS,
    ConformanceError,
    check_state,
    expect,
    legal_moves,
    option_sets,
    playouts,
    positions,
    spread,
)
from engine.conformance.run import run_checks
from engine.conformance.views import check_budget, check_views
from engine.game import Game, GameError, GameFault, Position
from engine.rules.registry import game_ids, load_game
from engine.rules.style import style_faults

__all__ = [
    "CHECKS",
    "NATIVE_CHECKS",
    "ConformanceError",
    "check_search",
    "main",
    "playouts",
    "positions",
]

#: Positions on which every token is read back.
READ_POSITIONS = 300
#: Positions on which every notation is read back.
NOTED_POSITIONS = 120
#: Positions on which every move is played to check the turn, besides the moves of the random
#: matches.
PLAYED_POSITIONS = 12
#: The length that RULES may have, in characters.
RULES_LENGTH = range(100, 8001)


def check_style(game: Game) -> None:
    """The rules are written so that compiled code does what they say."""
    module: Any = game.module
    faults = [
        f"{fault.file}:{fault.line}: {fault.what}; {fault.cure}" for fault in style_faults(module)
    ]
    expect(not faults, "rules are written for compiled words", *faults)


def check_declarations(game: Game) -> None:
    """Names, numbers and options are as `Rules` says, and every offered option starts a match."""
    rules = game.rules
    name_form = re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", rules.NAME)
    expect(name_form, "NAME is lower case words joined by hyphens", rules.NAME)
    expect(
        0 < len(rules.TITLE) <= 60 and rules.TITLE.isprintable(),
        "TITLE is one short line",
        rules.TITLE,
    )
    words = len(rules.RULES.strip())
    is_page = all(line.isprintable() for line in rules.RULES.splitlines())
    expect(
        words in RULES_LENGTH and is_page,
        "RULES explains the game in 100 to 8000 characters",
        f"{words} characters",
    )
    expect(1 <= rules.LEVELS <= 8, "LEVELS is 1 to 8", rules.LEVELS)
    expect(
        1 <= rules.MAX_MOVES <= 0xFFFF and rules.WORDS >= 1,
        "MAX_MOVES is 1 to 65535 and WORDS at least 1",
        rules.MAX_MOVES,
    )
    for name, option in game.options.items():
        expect(option.default in option.offered, "a default is on offer", name)
    for options in option_sets(game):
        start = game.start(options)
        expect(legal_moves(start), "a match starts with a move to make", options)
        check_state(start)


def check_states_and_ends(game: Game) -> None:
    """States keep their form; an ongoing match has moves, a finished one has an outcome; the seats
    are 0 and 1.
    """
    for position in positions(game):
        check_state(position)
        expect(
            position.turn in (0, 1), "the seat to move is 0 or 1", position.text(), position.turn
        )
        outcome = position.outcome()
        moves = position.moves()
        expect(
            (outcome is None) == bool(moves),
            "no moves and an outcome go together",
            position.text(),
            outcome,
        )
        if outcome is not None:
            expect(
                outcome.winner in (None, 0, 1) and outcome.reason,
                "an outcome names a seat and a reason",
                outcome,
            )
        else:
            with np.errstate(over="ignore"):
                score = int(game.rules.evaluate(position.state, data_of(game)))
            expect(
                abs(score) <= 20_000,
                "an evaluation is within 20000 either way",
                position.text(),
                score,
            )


def check_turns(game: Game) -> None:
    """Every move gives the turn to the other side: the search negates the score at each move."""
    for line in playouts(game):
        for before, after in pairwise(line):
            check_turn(before, after)
    for position in spread(list(positions(game)), PLAYED_POSITIONS):
        for move in position.moves():
            check_turn(position, position.play(move))


def check_turn(before: Position, after: Position) -> None:
    """Checks that one move passed the turn."""
    assert after.last is not None, "the position was reached by a move"
    assert after.last is not None, "it was played"
    if after.turn != 1 - before.turn:
        cure = (
            "where a side goes on, all of its steps are one move, "
            "or the other side gets a move that passes"
        )
        where = f"{before.text()} | {before.format_move(after.last[1])} | {after.text()}"
        raise ConformanceError(f"play gives the turn to the other side ({cure}): {where}")


def check_moves(game: Game) -> None:
    """Moves are at most MAX_MOVES different ints of 63 bits, and each has its own token, which is
    read back.
    """
    for position in positions(game):
        moves = position.moves()
        where = position.text()
        expect(
            len(moves) <= game.rules.MAX_MOVES,
            "no state has more than MAX_MOVES moves",
            where,
            len(moves),
        )
        expect(len(set(moves)) == len(moves), "no move is there twice", where, moves)
        expect(
            all(0 <= move < 1 << 63 for move in moves),
            "a move is an int of at most 63 bits",
            where,
            moves,
        )
    for position in spread(list(positions(game)), READ_POSITIONS):
        tokens = position.tokens()
        where = position.text()
        expect(len(set(tokens)) == len(tokens), "no two moves share a token", where, tokens)
        for move, token in zip(position.moves(), tokens, strict=True):
            expect(
                re.fullmatch(r"[!-~]{1,64}", token),
                "a token is 1 to 64 visible ASCII characters",
                token,
            )
            expect(
                position.parse_move(token) == move, "a token is read back as its move", where, token
            )


def check_texts(game: Game) -> None:
    """Position text is one complete line that is read back as the same state."""
    seen: dict[str, Any] = {}
    for position in positions(game):
        text = position.text()
        expect(
            text.isprintable() and len(text) <= 4096, "a position is one printable line", repr(text)
        )
        again = game.position(text, position.options)
        expect(again == position, "a position is read back", text, again.state, position.state)
        expect(
            again.digest() == position.digest() and again.text() == text,
            "and has the same text and digest",
            text,
        )
        where = f"{text} {sorted(position.options.items())}"
        expect(
            seen.setdefault(where, position.state) == position.state,
            "different states have different texts",
            text,
        )


def check_bad_texts(game: Game) -> None:
    """Any text that a client sends as a move or a position gets a typed error, never an error of
    the rules.
    """
    chance = random.Random(2)
    for line in playouts(game, 3, seed=2):
        position = chance.choice(line)
        for text in [
            *damaged(position.text(), chance),
            *damaged(chance.choice(line[0].tokens()), chance),
        ]:
            for read in (position.parse_move, partial(game.position, options=position.options)):
                try:
                    read(text)
                except GameError:
                    pass
                except GameFault as error:
                    raise ConformanceError(f"{text!r} is answered by a defect: {error}") from error


def damaged(text: str, chance: random.Random, count: int = 30) -> Iterator[str]:
    """The text with characters changed, dropped and doubled, and texts that never were valid."""
    yield from ("", " ", "\0", "\n", "٣", "é", "-1", "99999999999999999999", "a" * 4096, text * 50)
    for _ in range(count):
        at = chance.randrange(len(text) + 1)
        new = chance.choice(
            ["", text[at:][:1] * 2, chr(chance.randrange(32, 127)), chr(chance.randrange(0x3000))]
        )
        yield text[:at] + new + text[at + 1 :]


def check_notation(game: Game) -> None:
    """A move as players write it is printable, names one legal move and is read back as that."""
    if game.rules.notation is None:
        return
    for position in spread(list(positions(game)), NOTED_POSITIONS):
        where = position.text()
        moves = position.moves()
        written = [position.notation(move) for move in moves]
        expect(len(set(written)) == len(written), "no two moves are written alike", where, written)
        for move, text in zip(moves, written, strict=True):
            expect(
                0 < len(text) <= 32 and text.isprintable(),
                "a move is written in a few characters",
                where,
                text,
            )
            expect(
                reads(position, text) == move,
                "a move as players write it is read back",
                where,
                text,
            )


def reads(position: Position, text: str) -> int | None:
    """The move that a text names, or None."""
    try:
        return position.parse_move(text)
    except GameError:
        return None


def check_keys(game: Game) -> None:
    """States that are different positions have different keys, and no key is 0."""
    states: dict[int, Any] = {}
    rules = game.rules
    with np.errstate(over="ignore"):
        for position in positions(game, 3 * PLAYOUTS):
            state = position.state
            found = int(rules.key(state))
            expect(0 < found < 1 << 64, "a key is a word other than 0", position.text(), found)
            # States that differ in their move counters only may share a key.
            what = state if rules.repetition is None else int(rules.repetition(state))
            expect(states.setdefault(found, what) == what, "states differ in key", position.text())


CHECKS: dict[str, Callable[[Game], None]] = {
    "style": check_style,
    "declarations": check_declarations,
    "states and ends": check_states_and_ends,
    "turns": check_turns,
    "moves": check_moves,
    "texts": check_texts,
    "bad texts": check_bad_texts,
    "notation": check_notation,
    "keys": check_keys,
    "draws": check_draws,
    "repetition": check_repetition,
    "claims": check_claims,
    "views": check_views,
}
#: Checks that depend on the machine: the command runs them, no test does.
TIMED_CHECKS: dict[str, Callable[[Game], None]] = {"budget": check_budget}
NATIVE_CHECKS: dict[str, Callable[[Game], None]] = {
    "no floats": check_no_floats,
    "compiled rules": check_compiled_rules,
    "search": check_search,
}


def main(arguments: list[str] | None = None) -> int:
    """Prints one line for each check; returns 0 when all pass, 1 when one fails, 2 for an unknown
    game.
    """
    parser = argparse.ArgumentParser(
        prog="python -m engine.conformance",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog="Exit codes: 0 all checks pass, 1 one fails, 2 for a game that is not there.",
    )
    parser.add_argument("game", nargs="*", help="the ids of games, all by default")
    code = 0
    for game_id in parser.parse_args(arguments).game or game_ids():
        try:
            load_game(game_id)
        except (GameError, GameFault) as error:
            print(f"conformance: {error}", file=sys.stderr)
            return 2
        for name, fault in run_checks(game_id, {**CHECKS, **TIMED_CHECKS, **NATIVE_CHECKS}):
            print(f"{game_id}: {name}: {fault or 'passed'}", flush=True)
            code = 1 if fault else code
    return code
