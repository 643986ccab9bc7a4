"""python -m engine.conformance GAME...: runs the checks that every game must pass, yours included.

Each check plays random matches of a game with a fixed seed and raises ConformanceError with the
position in which the game breaks a promise of `engine.game.Rules`. CHECKS need the rules only,
TIMED_CHECKS measure them, and NATIVE_CHECKS also compile them. The command runs all checks in a
separate process (see `engine.conformance.run`).
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
from engine.conformance.native import (
    cached_data,
    check_compiled_rules,
    check_no_floats,
    check_search,
)
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

#: The results that end the moves of a game in PGN.
RESULTS = ("1-0", "0-1", "1/2-1/2", "*")
#: Positions in which every token is read back.
TOKEN_POSITIONS = 300
#: Positions in which the notation of every move is read back.
NOTATION_POSITIONS = 120
#: Positions in which every legal move is played to check the turn, after the random matches.
TURN_POSITIONS = 12
#: Maximum points of a seat, either way.
MAX_POINTS = 1_000_000_000
#: Allowed lengths of RULES, in characters.
RULES_LENGTH = range(100, 8001)
#: The maximum length of GOAL, in characters.
GOAL_LENGTH = 80


def check_style(game: Game) -> None:
    """The style check finds no code that would behave differently when compiled."""
    module: Any = game.module
    faults = [
        f"{fault.file}:{fault.line}: {fault.what}; {fault.fix}" for fault in style_faults(module)
    ]
    expect(not faults, "rules behave the same when compiled", *faults)


def check_declarations(game: Game) -> None:
    """Names, numbers and options are as `Rules` requires, and a match starts with each option."""
    rules = game.rules
    for name in (rules.NAME, *rules.ALIASES):
        is_slug = re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", name)
        expect(is_slug, "NAME and ALIASES are lower case words joined by hyphens", name)
    for alias in rules.ALIASES:
        expect(alias not in game_ids(), "an alias is no game's id", alias)
    expect(
        0 < len(rules.TITLE) <= 60 and rules.TITLE.isprintable(),
        "TITLE is one short line",
        rules.TITLE,
    )
    expect(
        len(rules.GOAL) <= GOAL_LENGTH and rules.GOAL.isprintable(),
        f"GOAL is one sentence of at most {GOAL_LENGTH} characters",
        rules.GOAL,
    )
    length = len(rules.RULES.strip())
    is_page = all(line.isprintable() for line in rules.RULES.splitlines())
    expect(
        length in RULES_LENGTH and is_page,
        "RULES explains the game in 100 to 8000 characters",
        f"{length} characters",
    )
    has_levels = rules.SEARCH != "teach"
    expect(not has_levels or 1 <= rules.LEVELS <= 8, "LEVELS is 1 to 8", rules.LEVELS)
    expect(
        1 <= rules.MAX_MOVES <= 0xFFFF and rules.WORDS >= 1,
        "MAX_MOVES is 1 to 65535 and WORDS at least 1",
        rules.MAX_MOVES,
    )
    for name, option in game.options.items():
        expect(option.default in option.offered, "a default is an offered value", name)
    for options in option_sets(game):
        start = game.start(options)
        expect(legal_moves(start), "a match starts with a legal move", options)
        check_state(start)


def check_states_and_ends(game: Game) -> None:
    """States are tuples of words; an ongoing match has moves, a finished one has an outcome."""
    for position in positions(game):
        check_state(position)
        expect(
            position.turn in (0, 1), "the seat to move is 0 or 1", position.text(), position.turn
        )
        outcome = position.outcome()
        moves = position.moves()
        expect(
            (outcome is None) == bool(moves),
            "a position has legal moves or an outcome, not both",
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
                score = int(game.rules.evaluate(position.state, cached_data(game)))
            expect(
                abs(score) <= 20_000,
                "an evaluation is within 20000 either way",
                position.text(),
                score,
            )


def check_turns(game: Game) -> None:
    """Every move passes the turn to the other side, unless the game has EXTRA_TURNS: the search
    negates the score where the turn passes.
    """
    if game.rules.EXTRA_TURNS:
        check_extra_turns(game)
        return
    for line in playouts(game):
        for before, after in pairwise(line):
            check_turn(before, after)
    for position in spread(list(positions(game)), TURN_POSITIONS):
        for move in position.moves():
            check_turn(position, position.play(move))


def check_extra_turns(game: Game) -> None:
    """In random matches of a game with EXTRA_TURNS some move keeps the turn and some passes it."""
    kept = {
        before.turn == after.turn
        for line in playouts(game)
        for before, after in pairwise(line)
        if after.moves()
    }
    expect(True in kept, "a game with EXTRA_TURNS has a move that keeps the turn", game.id)
    expect(False in kept, "a game has a move that passes the turn", game.id)
    rules: Any = game.rules
    if rules.pass_turn is None:
        return
    for position in positions(game):
        if position.moves() and rules.may_pass(position.state):
            with np.errstate(over="ignore"):
                passed = rules.turn(rules.pass_turn(position.state))
            expect(
                passed == 1 - position.turn,
                "pass_turn passes the turn to the other side",
                position.text(),
            )


def check_turn(before: Position, after: Position) -> None:
    """Checks that one move passes the turn."""
    assert after.last is not None, "the position was reached by a move"
    if after.turn != 1 - before.turn:
        fix = (
            "if a side continues its turn, all of its steps are one move, "
            "or set EXTRA_TURNS = True and mark turn with @rule"
        )
        where = f"{before.text()} | {before.format_move(after.last[1])} | {after.text()}"
        raise ConformanceError(f"play passes the turn to the other side ({fix}): {where}")


def check_moves(game: Game) -> None:
    """A position has at most MAX_MOVES different moves of 63 bits; each token is read back as its
    move.
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
        expect(len(set(moves)) == len(moves), "no move is listed twice", where, moves)
        expect(
            all(0 <= move < 1 << 63 for move in moves),
            "a move is an int of at most 63 bits",
            where,
            moves,
        )
    for position in spread(list(positions(game)), TOKEN_POSITIONS):
        tokens = position.tokens()
        where = position.text()
        expect(len(set(tokens)) == len(tokens), "no two moves share a token", where, tokens)
        for move, token in zip(position.moves(), tokens, strict=True):
            expect(
                re.fullmatch(r"[A-Za-z0-9@=+*x:.-]{1,64}", token) and token not in RESULTS,
                "a token is 1 to 64 letters, digits and signs of @=+*:.- (files of games have"
                " others between moves) and no result of a game, as 1-0",
                token,
            )
            expect(
                position.parse_move(token) == move, "a token is read back as its move", where, token
            )


def check_texts(game: Game) -> None:
    """The text of a position is one line that is read back as the same state."""
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
            "a position that is read back has the same text and digest",
            text,
        )
        where = f"{text} {sorted(position.options.items())}"
        expect(
            seen.setdefault(where, position.state) == position.state,
            "different states have different texts",
            text,
        )


def check_bad_texts(game: Game) -> None:
    """Invalid text for a move or a position raises GameError, not an error of the rules."""
    rng = random.Random(2)
    for line in playouts(game, 3, seed=2):
        position = rng.choice(line)
        for text in [
            *damaged(position.text(), rng),
            *damaged(rng.choice(line[0].tokens()), rng),
        ]:
            for read in (position.parse_move, partial(game.position, options=position.options)):
                try:
                    read(text)
                except GameError:
                    pass
                except GameFault as error:
                    raise ConformanceError(
                        f"{text!r} raises an error of the rules: {error}"
                    ) from error


def damaged(text: str, rng: random.Random, count: int = 30) -> Iterator[str]:
    """Yields invalid texts, then `text` with characters changed, dropped and doubled."""
    yield from ("", " ", "\0", "\n", "٣", "é", "-1", "99999999999999999999", "a" * 4096, text * 50)
    for _ in range(count):
        index = rng.randrange(len(text) + 1)
        replacement = rng.choice(
            ["", text[index:][:1] * 2, chr(rng.randrange(32, 127)), chr(rng.randrange(0x3000))]
        )
        yield text[:index] + replacement + text[index + 1 :]


def check_notation(game: Game) -> None:
    """The notation of a move is short and printable, and is read back as that move."""
    if game.rules.notation is None:
        return
    for position in spread(list(positions(game)), NOTATION_POSITIONS):
        where = position.text()
        moves = position.moves()
        written = [position.notation(move) for move in moves]
        expect(len(set(written)) == len(written), "no two moves share a notation", where, written)
        for move, text in zip(moves, written, strict=True):
            expect(
                0 < len(text) <= 32 and text.isprintable(),
                "a notation is 1 to 32 printable characters",
                where,
                text,
            )
            expect(
                parse_or_none(position, text) == move,
                "a notation is read back as its move",
                where,
                text,
            )


def parse_or_none(position: Position, text: str) -> int | None:
    """Returns the move that a text names, or None."""
    try:
        return position.parse_move(text)
    except GameError:
        return None


def check_keys(game: Game) -> None:
    """Different positions have different keys, and no key is 0."""
    states: dict[int, Any] = {}
    rules = game.rules
    with np.errstate(over="ignore"):
        for position in positions(game, 3 * PLAYOUTS):
            state = position.state
            key = int(rules.key(state))
            expect(0 < key < 1 << 64, "a key is a word other than 0", position.text(), key)
            # States that differ only in their move counters may share a key.
            identity = state if rules.repetition is None else int(rules.repetition(state))
            expect(
                states.setdefault(key, identity) == identity,
                "different positions have different keys",
                position.text(),
            )


def check_points(game: Game) -> None:
    """The points of a finished match are two whole numbers within MAX_POINTS, or None."""
    for position in positions(game):
        outcome = position.outcome()
        if outcome is None or outcome.points is None:
            continue
        are_small = all(abs(points) <= MAX_POINTS for points in outcome.points)
        expect(are_small, "points are within a billion either way", position.text(), outcome.points)
        assert game.rules.points is not None, "only a rule gives points"
        given: object = game.rules.points(position.state)
        is_pair = isinstance(given, tuple) and len(given) == 2
        expect(is_pair, "points are a pair, one for each seat", position.text(), given)


def check_can_win(game: Game) -> None:
    """`can_win` is True for the winner of a random match in each state that led to the win."""
    rule = game.rules.can_win
    if rule is None:
        return
    for line in playouts(game):
        outcome = line[-1].outcome()
        winner = None if outcome is None else outcome.winner
        if winner is None:
            continue
        for position in line:
            given: object = rule(position.state, winner)
            expect(isinstance(given, bool), "can_win is True or False", position.text(), given)
            expect(given, "a seat that went on to win can win", position.text(), winner)


#: Checks that need the uncompiled rules only, by name.
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
    "points": check_points,
    "can win": check_can_win,
    "views": check_views,
}
#: Checks that depend on the speed of the machine: the command runs them, the tests do not.
TIMED_CHECKS: dict[str, Callable[[Game], None]] = {"budget": check_budget}
#: Checks that compile the game, by name.
NATIVE_CHECKS: dict[str, Callable[[Game], None]] = {
    "no floats": check_no_floats,
    "compiled rules": check_compiled_rules,
    "search": check_search,
}
#: The check of CHECKS that a game which is never compiled need not pass.
STYLE = "style"


def checks_of(game: Game) -> dict[str, Callable[[Game], None]]:
    """Returns the checks that a game must pass, apart from those of its speed, by name.

    A game with SEARCH "teach" is never compiled, so it need not pass those of compiled code.
    """
    if game.rules.SEARCH == "teach":
        return {name: check for name, check in CHECKS.items() if name != STYLE}
    return {**CHECKS, **NATIVE_CHECKS}


def main(arguments: list[str] | None = None) -> int:
    """Runs the checks and prints a line for each.

    Returns 0 if all pass, 1 if one fails, 2 if a game cannot be loaded.
    """
    parser = argparse.ArgumentParser(
        prog="python -m engine.conformance",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog="Exit codes: 0 all checks pass, 1 one fails, 2 a game cannot be loaded.",
    )
    parser.add_argument("game", nargs="*", help="the ids of games, all by default")
    code = 0
    for game_id in parser.parse_args(arguments).game or game_ids():
        try:
            checks = {**checks_of(load_game(game_id)), **TIMED_CHECKS}
        except (GameError, GameFault) as error:
            print(f"conformance: {error}", file=sys.stderr)
            return 2
        for name, fault in run_checks(game_id, checks):
            print(f"{game_id}: {name}: {fault or 'passed'}", flush=True)
            code = 1 if fault else code
    return code
