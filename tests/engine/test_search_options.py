"""The options of a search: several lines, some root moves only, contempt, pondering, several
threads, and the optional hooks of a game.
"""

import random
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from engine.conformance.checks import playouts
from engine.game import Game
from engine.games import connect_four
from engine.rules.registry import load_game
from engine.search import kernel, layout
from engine.search.driver import Control, Searcher, Table
from engine.search.features import ALL, BASIC, EXTENSIONS, QUIESCENCE, SOUND
from engine.search.job import MATE, Limit, SearchFailed
from engine.search.report import Report, line_tokens
from tests.engine.test_kernel import OPEN_TWO, endgames

#: A function from a game's id to its searcher, such as the fixture `searcher_of`.
Searchers = Callable[[str], Searcher]
#: The number of lines that the tests request.
LINE_COUNT = 3


def test_several_lines(searcher_of: Searchers) -> None:
    """The best moves have exact scores, each with a legal line that begins with its move."""
    searcher = searcher_of("connect-four")
    for line in playouts(searcher.game, 8, seed=5):
        position = line[6]
        full = searcher.search(
            position,
            Limit(depth=5),
            Table(12),
            Control(),
            exact_depth=True,
            margin=4 * MATE,
            features=BASIC,
        )
        expected = sorted((score for _, score, _ in full.moves), reverse=True)
        several = searcher.search(
            position, Limit(depth=5), Table(12), Control(), exact_depth=True, lines=LINE_COUNT
        )
        values = {move: score for move, score, _ in full.moves}
        assert [score for _, score, _ in several.moves[:LINE_COUNT]] == expected[:LINE_COUNT]
        for (move, score, bound), moves in list(zip(several.moves, several.lines, strict=True))[
            :LINE_COUNT
        ]:
            assert (bound, values[move], moves[:1]) == (layout.EXACT, score, (move,))
            assert len(line_tokens(position, moves)) == len(moves)
        assert several.lines[0] == several.line
        assert all(
            score <= several.moves[LINE_COUNT - 1][1] for _, score, _ in several.moves[LINE_COUNT:]
        )
    all_lines = searcher.search(
        searcher.game.start(), Limit(depth=3), Table(12), Control(), lines=31
    )
    assert all(bound == layout.EXACT for _, _, bound in all_lines.moves)
    for lines in (0, layout.MAX_LINES + 1):
        with pytest.raises(ValueError, match="lines are 1 to"):
            searcher.search(
                searcher.game.start(), Limit(depth=1), Table(12), Control(), lines=lines
            )


def test_searchmoves(searcher_of: Searchers) -> None:
    """A search of some root moves finds the best of them, with its score in a full search."""
    searcher = searcher_of("connect-four")
    position = next(iter(playouts(searcher.game, 1, seed=5)))[6]
    full = searcher.search(
        position, Limit(depth=5), Table(12), Control(), exact_depth=True, margin=4 * MATE
    )
    searchmoves = [move for move, _, _ in full.moves[2:5]]
    restricted = searcher.search(
        position, Limit(depth=5), Table(12), Control(), exact_depth=True, searchmoves=searchmoves
    )
    assert {move for move, _, _ in restricted.moves} == {*searchmoves}
    assert (restricted.score, restricted.moves[0][1]) == (full.moves[2][1], full.moves[2][1])
    for illegal in ([77], [searchmoves[0], 77]):
        with pytest.raises(SearchFailed, match="legal: 77"):
            searcher.search(position, Limit(depth=5), Table(12), Control(), searchmoves=illegal)


def test_limits_below_one_are_refused(searcher_of: Searchers) -> None:
    """A limit below one ply or node is an error, not "no limit"; so are 0 threads."""
    for given in ({"depth": 0}, {"nodes": 0}, {"depth": 3, "nodes": -1}):
        with pytest.raises(ValueError, match="is 1 or more"):
            Limit(**given)
        with pytest.raises(msgspec.ValidationError, match="is 1 or more"):
            msgspec.json.decode(msgspec.json.encode(given), type=Limit)
    with pytest.raises(ValueError, match="is 1 or more"):
        msgspec.structs.replace(Limit(depth=1), depth=0)
    searcher = searcher_of("connect-four")
    for limit in (Limit(depth=1), Limit(nodes=1)):
        assert searcher.search(searcher.game.start(), limit, Table(12), Control()).depth == 1
    for threads in (0, -1):
        with pytest.raises(ValueError, match="threads are 1 or more"):
            searcher.search(
                searcher.game.start(), Limit(depth=1), Table(12), Control(), threads=threads
            )


def test_contempt(searcher_of: Searchers) -> None:
    """A draw scores minus the contempt for the side to move at the root.

    A table from searches with another contempt or for the other side does not change that.
    """
    searcher = searcher_of("tic-tac-toe")
    table = Table(14)
    start = searcher.game.start()
    after = start.play(start.moves()[4])
    for contempt in (0, 30, -20, 30, 0):
        for position in (start, after, after.play(after.moves()[0])):
            report = searcher.search(position, Limit(), table, Control(), contempt=contempt)
            assert (report.score, report.solved) == (-contempt, True)
    assert (
        searcher.search(start.play(0).play(1), Limit(), table, Control(), contempt=50).score
        > layout.MATE_BOUND
    )
    with pytest.raises(ValueError, match="contempt"):
        searcher.search(start, Limit(), table, Control(), contempt=1001)


def test_pondering(searcher_of: Searchers) -> None:
    """A pondering search counts no time until `ponderhit`; then the limit's time counts."""
    searcher = searcher_of("connect-four")
    now = [0.0]
    depths: list[int] = []

    def end_depth(report: Report) -> None:
        depths.append(report.depth)
        now[0] += 10.0  # seconds: at each depth far more than the limit
        if report.depth == 6:
            searcher.ponderhit()
            now[0] += 0.5

    def ponder(pondering: bool) -> int:
        depths.clear()
        searcher.search(
            searcher.game.start(),
            Limit(time_ms=1000),
            Table(14),
            Control(),
            pondering=pondering,
            on_depth=end_depth,
            clock=lambda: now[0],
        )
        return depths[-1]

    assert ponder(pondering=False) == 1
    assert ponder(pondering=True) == 7, (
        "half of the time is left after ponderhit: one more depth starts"
    )


def test_several_threads(searcher_of: Searchers) -> None:
    """Threads that share a table find the scores of late positions and share the node limit."""
    searcher = searcher_of("connect-four")
    table = Table(14)
    for position, score in endgames(11, 40):
        for threads in (2, 3):
            report = searcher.search(
                position, Limit(), table, Control(), threads=threads, features=SOUND
            )
            assert report.score == score, position.text()
    alone = searcher.search(searcher.game.start(), Limit(depth=9), Table(16), Control())
    shared = searcher.search(searcher.game.start(), Limit(depth=9), Table(16), Control(), threads=2)
    assert shared.depth == alone.depth == 9
    limited = searcher.search(
        searcher.game.start(), Limit(nodes=100_000), Table(16), Control(), threads=2
    )
    assert limited.nodes < 300_000
    searcher.search(searcher.game.start(), Limit(depth=4), Table(16), Control())
    assert (
        searcher.search(searcher.game.start(), Limit(depth=9), Table(16), Control()).nodes
        == alone.nodes
    )


def test_a_torn_entry_is_a_miss(searcher_of: Searchers) -> None:
    """Words of different entries in one slot do not match: the key is XORed with the data."""
    searcher = searcher_of("connect-four")
    table = Table(10)
    rng = random.Random(2)
    for position, score in endgames(12, 150):
        searcher.search(position, Limit(depth=8), table, Control())
        words = table.memory.array
        for _ in range(200):  # the data of another entry, as two writers of one slot may leave it
            slot, other = (2 * rng.randrange(1 << 10) for _ in range(2))
            words[slot + 1] = words[other + 1]
        assert searcher.search(position, Limit(), table, Control(), features=SOUND).score == score


#: The rules without their book: a copy in another folder would not find the book's file.
CONNECT_FOUR = (
    Path(connect_four.__file__).read_text("utf-8").replace('"data/connect_four_book.bin",', "")
)

#: Hooks to append to CONNECT_FOUR.
HOOKS = '''

@rule
def wins_at(stones: np.uint64, discs: np.uint64) -> int:
    """The first column in which a disc makes four of these stones; -1 if there is none."""
    for column in range(7):
        cell = (discs + (U(1) << U(7 * column))) & ~discs & (U(0x3F) << U(7 * column))
        if cell and has_four(stones | cell):
            return column
    return -1


@rule
def tactical(s: State, buf: Any) -> int:
    buf[0] = wins_at(s[0], s[1])
    return 1 if buf[0] >= 0 else 0


@rule
def unstable(s: State) -> int:
    return 1 if wins_at(s[0] ^ s[1], s[1]) >= 0 else 0


@rule
def rank(s: State, m: int) -> int:
    if m == wins_at(s[0], s[1]):
        return 2
    if m == wins_at(s[0] ^ s[1], s[1]):
        return 1
    return -1 if m in (0, 6) else 0
'''


@pytest.fixture
def connect_four_with_hooks(plug_in: Callable[[str, str], Path]) -> Game:
    """Returns connect four with `tactical`, `unstable` and `rank`."""
    plug_in("hooked", CONNECT_FOUR.replace('NAME = "connect-four"', 'NAME = "hooked"') + HOOKS)
    return load_game("hooked")


def check_hooks(searcher: Searcher) -> None:
    """Asserts that hooks change no solved result and deepen the search of forced replies."""
    table = Table(14)
    for position, score in endgames(13, 60):
        same_position = searcher.game.position(position.text())
        report = searcher.search(same_position, Limit(), table, Control())
        assert (report.score > 0) - (report.score < 0) == (score > 0) - (score < 0), position.text()
        assert report.solved or MATE - abs(report.score) <= report.depth
    win = searcher.game.position(OPEN_TWO)
    extended = BASIC | EXTENSIONS
    for features in (ALL, extended, BASIC | QUIESCENCE):
        table = Table(14)
        report = searcher.search(win, Limit(depth=2), table, Control(), features=features)
        is_seen = report.score == MATE - 3
        assert is_seen, "the search sees a win beyond its depth if all replies are forced"
    assert (
        searcher.search(win, Limit(depth=2), Table(14), Control(), features=BASIC).score
        < layout.MATE_BOUND
    )


def test_hooks_do_not_change_results(connect_four_with_hooks: Game) -> None:
    """With quiescence, extensions and ranks, solved positions have the results of brute force.

    The search also sees a win with forced replies beyond its depth.
    """
    check_hooks(Searcher(connect_four_with_hooks, compiled=False))


#: Hooks that call every position unstable and every move tactical.
NOISY = """

@rule
def unstable(s: State) -> int:
    return 1


@rule
def tactical(s: State, buf: Any) -> int:
    return moves(s, buf)
"""


def test_a_search_without_quiet_positions_ends(
    plug_in: Callable[[str, str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a game without quiet positions depth 1 ends soon, although no limit stops it.

    The node limit stops depth 2. The search is not compiled, so it has a limit of fewer nodes.
    """
    quiet_nodes = 500
    monkeypatch.setattr(kernel, "QUIET_NODES", quiet_nodes)
    plug_in(
        "noisy",
        CONNECT_FOUR.replace('NAME = "connect-four"', 'NAME = "noisy"') + NOISY,
    )
    searcher = Searcher(load_game("noisy"), compiled=False)
    for nodes, max_nodes in ((1, quiet_nodes + 7**3), (2500, 2500)):
        report = searcher.search(searcher.game.start(), Limit(nodes=nodes), Table(14), Control())
        assert quiet_nodes <= searcher._works[0].nodes <= max_nodes
        assert (report.depth, len(report.moves)) == (1, 7)
