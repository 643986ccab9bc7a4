"""python -m engine.conformance GAME...: the checks that every game must pass, yours included.

Each check takes a game, plays a few hundred positions of it at random (with a fixed seed) and raises ConformanceError
with the position when a promise of `engine.game.Rules` is broken. CHECKS need the rules only; NATIVE_CHECKS compile
them as well.
"""

import math
import random
import re
import sys
import time
from collections.abc import Callable, Iterator
from functools import cache, partial
from statistics import median
from types import ModuleType
from typing import Any

import msgspec
import numpy as np

from engine.game import GOES_ON, Game, GameError, GameFault, Position
from engine.games.registry import game_ids, load_game
from engine.search.report import Report
from engine.view import BoardView, MoveView, PositionView, cell_ids

PLAYOUTS = 12
MAX_PLIES = 300
BUDGET_S = 0.005
SEARCH_LEAVES = 60_000


class ConformanceError(Exception):
    """A game breaks a promise; the message says which, and where."""


def expect(is_kept: object, promise: str, *where: object) -> None:
    if not is_kept:
        raise ConformanceError(f"{promise}: {' | '.join(map(str, where))}")


def option_sets(game: Game) -> list[dict[str, str]]:
    """The defaults, and for each offered value of each option the defaults with that value."""
    sets = [game.check_options({})]
    for name, option in game.options.items():
        sets += [game.check_options({name: value}) for value in option.offered if value != option.default]
    return sets


def playouts(game: Game, count: int = PLAYOUTS, seed: int = 1) -> Iterator[list[Position]]:
    """Random matches, each as its positions from the start to the end."""
    chance = random.Random(seed)
    for options in option_sets(game):
        for _ in range(count):
            line = [game.start(options)]
            while len(line) <= MAX_PLIES and (moves := line[-1].moves()):
                line.append(line[-1].play(chance.choice(moves)))
            yield line


def positions(game: Game, count: int = PLAYOUTS, seed: int = 1) -> Iterator[Position]:
    for line in playouts(game, count, seed):
        yield from line


def check_declarations(game: Game) -> None:
    """Names, numbers and options are what `Rules` says, and every offered option starts a match."""
    rules = game.rules
    name_form = re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", rules.NAME)
    expect(name_form, "NAME is lower case words joined by hyphens", rules.NAME)
    expect(0 < len(rules.TITLE) <= 60 and rules.TITLE.isprintable(), "TITLE is one short line", rules.TITLE)
    expect(rules.RULES.strip(), "RULES explains the game")
    expect(1 <= rules.LEVELS <= 8, "LEVELS is 1 to 8", rules.LEVELS)
    expect(rules.MAX_MOVES >= 1 and rules.WORDS >= 1, "MAX_MOVES and WORDS are at least 1")
    for name, option in game.options.items():
        expect(option.default in option.offered, "a default is on offer", name)
    for options in option_sets(game):
        start = game.start(options)
        expect(start.moves(), "a match starts with a move to make", options)
        check_state(start)


def check_state(position: Position) -> None:
    """A state is a tuple of WORDS words."""
    words = position.game.rules.WORDS
    state: object = position.state
    expect(isinstance(state, tuple) and len(state) == words, f"a state is a tuple of {words} words", state)
    expect(all(type(word) is np.uint64 for word in position.state), "the words are np.uint64", position.state)


def check_states_and_ends(game: Game) -> None:
    """States keep their form; a match that goes on has moves, a finished one has an outcome; the seats are 0 and 1."""
    for position in positions(game):
        check_state(position)
        expect(position.turn in (0, 1), "the seat to move is 0 or 1", position.text(), position.turn)
        outcome = position.outcome()
        moves = position.moves()
        expect((outcome is None) == bool(moves), "no moves and an outcome go together", position.text(), outcome)
        if outcome is not None:
            expect(outcome.winner in (None, 0, 1) and outcome.reason, "an outcome names a seat and a reason", outcome)
        else:
            with np.errstate(over="ignore"):
                score = int(game.rules.evaluate(position.state, data_of(game)))
            expect(abs(score) <= 20_000, "an evaluation is within 20000 either way", position.text(), score)


def check_moves(game: Game) -> None:
    """Moves are at most MAX_MOVES different ints of 63 bits, and each has a token of its own that is read back."""
    for position in positions(game):
        moves = position.moves()
        where = position.text()
        expect(len(moves) <= game.rules.MAX_MOVES, "no state has more than MAX_MOVES moves", where, len(moves))
        expect(len(set(moves)) == len(moves), "no move is there twice", where, moves)
        tokens = position.tokens()
        expect(len(set(tokens)) == len(tokens), "no two moves share a token", where, tokens)
        for move, token in zip(moves, tokens, strict=True):
            expect(0 <= move < 1 << 63, "a move is an int of at most 63 bits", where, move)
            expect(re.fullmatch(r"[!-~]{1,64}", token), "a token is 1 to 64 visible ASCII characters", token)
            expect(position.parse_move(token) == move, "a token is read back as its move", where, token)


def check_texts(game: Game) -> None:
    """Position text is one line, complete, and read back as the same state."""
    seen: dict[str, Any] = {}
    for position in positions(game):
        text = position.text()
        expect(text.isprintable() and len(text) <= 4096, "a position is one printable line", repr(text))
        again = game.position(text, position.options)
        expect(again == position, "a position is read back", text, again.state, position.state)
        expect(again.digest() == position.digest() and again.text() == text, "and has the same text and digest", text)
        where = f"{text} {sorted(position.options.items())}"
        expect(seen.setdefault(where, position.state) == position.state, "different states have different texts", text)


def check_bad_texts(game: Game) -> None:
    """Whatever a stranger sends as a move or a position gets a typed error, never one of the rules' own."""
    chance = random.Random(2)
    for line in playouts(game, 3, seed=2):
        position = chance.choice(line)
        for text in [*damaged(position.text(), chance), *damaged(chance.choice(line[0].tokens()), chance)]:
            for read in (position.parse_move, partial(game.position, options=position.options)):
                try:
                    read(text)
                except GameError:
                    pass
                except GameFault as error:
                    raise ConformanceError(f"{text!r} is answered by a defect: {error}") from error


def damaged(text: str, chance: random.Random, count: int = 30) -> Iterator[str]:
    """The text with characters changed, dropped and doubled, and some that never were one."""
    yield from ("", " ", "\0", "\n", "٣", "é", "-1", "99999999999999999999", "a" * 4096, text * 50)
    for _ in range(count):
        at = chance.randrange(len(text) + 1)
        new = chance.choice(["", text[at:][:1] * 2, chr(chance.randrange(32, 127)), chr(chance.randrange(0x3000))])
        yield text[:at] + new + text[at + 1 :]


def check_keys(game: Game) -> None:
    """Different states have different keys, as far as they count as different; and no key is 0."""
    states: dict[int, Any] = {}
    rules: Any = game.rules
    with np.errstate(over="ignore"):
        for position in positions(game, 3 * PLAYOUTS):
            state = position.state
            found = int(rules.key(state))
            expect(0 < found < 1 << 64, "a key is a word other than 0", position.text(), found)
            # States that differ in their move counters only may share a key.
            what = int(rules.repetition(state)) if hasattr(rules, "repetition") else state
            expect(states.setdefault(found, what) == what, "states differ in key", position.text())


def check_views(game: Game) -> None:
    """Views survive the wire and stay on the board; clicks lead to every legal move and to nothing else."""
    for line in playouts(game):
        board = game.board(line[0].options)
        expect(survives(board, BoardView), "a board view is what it is on the wire", board)
        cells = set(cell_ids(board.board))
        expect(len(board.seats) == 2, "there are two seats", board.seats)
        for label, hit in board.targets.items():
            expect(label not in cells and set(hit) <= cells, "a target stands for cells", label, hit)
        for kind in board.kinds.values():
            expect(kind.side in (None, 0, 1), "a kind belongs to a seat or to none", kind)
        for position in line:
            check_view(position, board, cells)


def check_view(position: Position, board: BoardView, cells: set[str]) -> None:
    """One position's view and clicks."""
    view = position.view()
    where = position.text()
    expect(survives(view, PositionView), "a view is what it is on the wire", where, view)
    expect(set(view.pieces) <= cells, "pieces stand on cells", where, view.pieces)
    expect(set(view.pieces.values()) <= set(board.kinds), "pieces are of the board's kinds", where, view.pieces)
    expect(all(set(marked) <= cells for marked in view.marks.values()), "marks are on cells", where, view.marks)
    expect(set(view.last) <= cells | set(board.targets), "the last move is on the board", where, view.last)
    expect(bool(view.last) == (position.last is not None), "the last move is shown when there is one", where, view.last)
    expect(view.text and view.text.isprintable(), "a view says in a line what there is to see", where)
    is_over = position.outcome() is not None
    expect(view.turn == (None if is_over else position.turn), "a view tells whose turn it is", where, view.turn)
    clicks = position.move_views()
    expect([click.id for click in clicks] == position.tokens(), "each legal move has its clicks", where)
    ways = [(click.path, click.choice) for click in clicks]
    expect(len(set(ways)) == len(ways), "no two moves have the same clicks and choice", where, ways)
    prefixes = {path[:length] for path, _ in ways for length in range(len(path))}
    expect(not prefixes & {path for path, _ in ways}, "no move's clicks begin another's", where, ways)
    for click in clicks:
        expect(survives(click, MoveView), "a move is what it is on the wire", where, click)
        expect(click.path and set(click.path) <= cells | set(board.targets), "clicks are on the board", where, click)
        expect(set(click.affects) <= cells, "affected cells are on the board", where, click)
        is_ghost = click.ghost is None or (click.ghost[0] in cells and click.ghost[1] in board.kinds)
        expect(is_ghost, "a ghost is a kind on a cell", where, click)


def survives(value: Any, kind: Any) -> bool:
    return bool(msgspec.json.decode(msgspec.json.encode(value), type=kind) == value)


def check_budget(game: Game) -> None:
    """Move list and view of a position take less than 5 ms, uncompiled."""
    times = []
    for position in positions(game, 2):
        begun = time.perf_counter()
        position.view()
        position.move_views()
        times.append(time.perf_counter() - begun)
    expect(median(times) < BUDGET_S, "move list and view take less than 5 ms", f"{median(times) * 1000:.2f} ms")


def check_compiled_rules(game: Game) -> None:
    """The compiled rules do exactly what the uncompiled ones do."""
    from engine.native import Memory, compile_game

    native = compile_game(game)
    required = ("status", "moves", "play", "stuck", "key", "evaluate")
    status, moves, play, stuck, key, evaluate = (native.function(f"rule_{name}") for name in required)
    counted = native.function("rule_count")
    names = [name for name in ("drawn", "repetition", "reversible") if hasattr(game.rules, name)]
    optional = {name: native.function(f"rule_{name}") for name in names}
    buffer = np.zeros(game.rules.MAX_MOVES, np.int64)
    memory = Memory(buffer)
    data = data_of(game)
    rules = game.rules
    with np.errstate(over="ignore"):
        for position in positions(game):
            state, words, where = position.state, tuple(int(word) for word in position.state), position.text()
            expect(status(words) == int(rules.status(state)), "status: compiled = uncompiled", where)
            expect(key(words) == int(rules.key(state)), "key: compiled = uncompiled", where)
            for name, function in optional.items():
                expected = int(getattr(rules, name)(state))
                expect(function(words) == expected, f"{name}: compiled = uncompiled", where)
            value = int(rules.evaluate(state, data))
            expect(evaluate(words, native.data) == value, "evaluate: compiled = uncompiled", where)
            if rules.status(state) != GOES_ON:
                continue
            mine = [0] * rules.MAX_MOVES
            count = rules.moves(state, mine)
            expect(counted(words, memory) == count, "count is the number of moves", where, count)
            expect(moves(words, memory) == count, "moves: compiled = uncompiled", where)
            expect(buffer[:count].tolist() == [int(move) for move in mine[:count]], "moves: the same order", where)
            for move in mine[:count]:
                after = tuple(int(word) for word in rules.play(state, move))
                expect(play(words, move) == after, "play: compiled = uncompiled", where, move)
            if count == 0:
                expect(stuck(words) == int(rules.stuck(state)), "stuck: compiled = uncompiled", where)


def check_no_floats(game: Game) -> None:
    """No variable of the compiled search is floating point: that is always a slip between signed and unsigned.

    It can only be seen when the code does not come out of the cache.
    """
    from engine.native import compile_game

    native = compile_game(game)
    native.function("root")
    expect(not native.float_typed(), "no variable is floating point", *native.float_typed())


def check_search(game: Game, template: ModuleType | None = None) -> None:
    """In its exact profile the search gives the values of a plain minimax, at each depth, whatever is in the table."""
    from engine.search.driver import Control, Searcher, Table
    from engine.search.job import Limit

    searcher = Searcher(game) if template is None else Searcher(game, template)
    chance = random.Random(3)
    used = Table(9)
    plain = plain_minimax(game)
    for line in playouts(game, PLAYOUTS, seed=3):
        position = chance.choice([earlier for earlier in line if earlier.moves()])
        check_plain(position, plain)
        depth = depth_of_leaves(position)
        for margin, table in ((0, Table(14)), (0, used), (chance.choice([1, 10, 30, 4 * 30_000]), used)):
            reports: list[Report] = []
            searcher.search(
                position, Limit(depth=depth), table, Control(), margin=margin, exact_depth=True, on_depth=reports.append
            )
            for report in reports:
                check_report(position, report, plain)


Plain = Callable[[Position, int, int], int]


def plain_minimax(game: Game) -> Plain:
    """The kernel's own plain search, compiled: value of a position to a depth, that many plies from the root."""
    from engine.native import Memory, compile_game
    from engine.search.kernel import work_words

    native = compile_game(game)
    function = native.function("plain")
    work = Memory(np.zeros(work_words(game.rules.MAX_MOVES), np.int64))

    def plain(position: Position, depth: int, ply: int) -> int:
        return int(function(tuple(int(word) for word in position.state), depth, ply, work, native.data))

    return plain


def check_plain(position: Position, plain: Plain) -> None:
    """The compiled plain search is the uncompiled one."""
    for depth in range(4):
        if len(position.moves()) ** depth < 400:
            found, expected = plain(position, depth, 0), minimax(position, depth, 0)
            expect(found == expected, "plain search: compiled = uncompiled", position.text(), depth, found, expected)


def check_report(position: Position, report: Report, plain: Plain) -> None:
    """A report of the exact profile against the plain values."""
    values = {move: -plain(position.play(move), report.depth - 1, 1) for move in position.moves()}
    where = (position.text(), f"depth {report.depth}")
    expect(report.score == max(values.values()), "the search's value is minimax's", *where, report.score, values)
    best = report.moves[0][0]
    expect(values[best] == report.score, "the first move is a best one", *where, best, values)
    for move, score, bound in report.moves:
        is_right = values[move] == score if bound == 0 else values[move] <= score
        expect(is_right, "each move's score is exact or an upper bound", *where, move, score, bound, values)


def depth_of_leaves(position: Position) -> int:
    """The greatest depth at which a plain search has about SEARCH_LEAVES leaves, judged by the number of moves here."""
    width = max(2, len(position.moves()))
    return max(1, int(math.log(SEARCH_LEAVES) / math.log(width)))


def minimax(position: Position, depth: int, ply: int) -> int:
    """The value of a position for its side to move, by trying everything: what the kernel's contract is about."""
    rules, state = position.game.rules, position.state
    result = int(rules.status(state))
    if result == GOES_ON:
        if position.game.drawn is not None and position.game.drawn(state):
            return 0
        if depth == 0:
            return int(rules.evaluate(state, data_of(position.game)))
        result, moves = position.game.settle(state)
        if moves:
            return max(-minimax(position.play(move), depth - 1, ply + 1) for move in moves)
    return {1: 30_000 - ply, 2: ply - 30_000, 3: 0}[result]


@cache
def data_of(game: Game) -> Any:
    """The game's DATA as its uncompiled rules see it."""
    from engine.native import load_data

    return load_data(game)


CHECKS: dict[str, Callable[[Game], None]] = {
    "declarations": check_declarations,
    "states and ends": check_states_and_ends,
    "moves": check_moves,
    "texts": check_texts,
    "bad texts": check_bad_texts,
    "keys": check_keys,
    "views": check_views,
    "budget": check_budget,
}
NATIVE_CHECKS: dict[str, Callable[[Game], None]] = {
    "no floats": check_no_floats,
    "compiled rules": check_compiled_rules,
    "search": check_search,
}


def main(arguments: list[str] | None = None) -> int:
    """One line a check; 0 when all are passed, 1 when one is not, 2 for a game that is not there."""
    asked = (sys.argv[1:] if arguments is None else arguments) or game_ids()
    code = 0
    for game_id in asked:
        try:
            game = load_game(game_id)
        except (GameError, GameFault) as error:
            print(f"conformance: {error}", file=sys.stderr)
            return 2
        for name, check in {**CHECKS, **NATIVE_CHECKS}.items():
            try:
                check(game)
            except (ConformanceError, GameError, GameFault) as error:
                print(f"{game_id}: {name}: {error}")
                code = 1
            else:
                print(f"{game_id}: {name}: passed")
    return code


if __name__ == "__main__":
    sys.exit(main())
