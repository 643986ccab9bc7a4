"""Finds the levels of a game: settings each of which scores about as much against the one below.

Levels are taken from a scale with one dimension, from careless looks of one ply with wide errors
(0) to the nodes that stand for the top level without any (1): nodes grow geometrically, margin and
carelessness shrink. Where even the weak end is too strong for the level after the first one, the
scale goes on below it (to -1): margins become wider still. Each level is the point of the scale
that scores TARGET against the level below, found by bisection over short matches.
"""

from collections.abc import Callable
from statistics import median

from engine.game import Game
from engine.match.log import Header, Log
from engine.match.making import searcher_for
from engine.match.openings import Openings, default_plies
from engine.match.run import run_match
from engine.search.driver import Control, Table
from engine.search.job import Limit

MAX_LEVELS = 8
#: A step scores this much; the first target that needs no more than MAX_LEVELS is taken.
TARGETS = (0.7, 0.74, 0.79, 0.83)
LOWEST, HIGHEST = 0.65, 0.85
#: Level 1 scores about so much against the player that looks one ply ahead without errors.
GREEDY_SCORE = 0.38
#: Bisections a level: closer than a short match can tell.
TRIALS = 4
#: The lowest end of the scale has so many times the usual margin.
WIDEST = 32
#: How careless a level is, in a thousand moves: so much times its distance from the top, but no
#: more than the most.
SLIP, MOST_SLIP = 1200, 900
MAX_PLIES = 200

Settings = tuple[int, int, int]


class Scale:
    """The settings between the weakest and the top; trials are matches between two of them, told to
    `out`.
    """

    def __init__(
        self,
        game: Game,
        options: dict[str, str],
        top_nodes: int,
        games: int,
        out: Callable[[str], None],
    ) -> None:
        self.game = game
        self._options = options
        self._top_nodes = top_nodes
        self._games = games + games % 2
        self._out = out
        self._known: dict[tuple[str, str], float] = {}
        self._margin = usual_spread(game, options)

    def at(self, point: float) -> Settings:
        """Nodes, margin and slip at a point from -1 to 1."""
        if point < 0:
            return (2, round(self._margin * WIDEST**-point), MOST_SLIP)
        weak = 1 - point
        return (
            max(2, round(self._top_nodes**point)),
            round(self._margin * weak**2),
            min(round(SLIP * weak), MOST_SLIP),
        )

    def first(self) -> Settings:
        """Level 1: as careless as it takes to lose to the greedy player often enough."""
        low, high = 0, 1000
        for _ in range(TRIALS):
            slip = (low + high) // 2
            if self.score((1, self._margin, slip), "greedy") > GREEDY_SCORE:
                low = slip
            else:
                high = slip
        return (1, self._margin, (low + high) // 2)

    def score(self, settings: Settings, other: Settings | str) -> float:
        """What the first settings score against the others, in a short match."""
        players = (text_of(settings), other if isinstance(other, str) else text_of(other))
        if players in self._known:
            return self._known[players]
        header = Header(
            self.game.id, self.game.digest, players, 7, default_plies(self.game), MAX_PLIES, self._options, compact=True
        )  # fmt: skip
        summary = run_match(Log(header, None), self._games)
        assert summary is not None, "a trial has one pair at least"
        self._known[players] = summary.score
        self._out(f"{settings} against {other}: {summary.score:.1%}")
        return summary.score


def text_of(settings: Settings) -> str:
    """The settings as a player of engine.match."""
    nodes, margin, slip = settings
    return f"nodes={nodes},margin={margin},slip={slip},table=fresh,table_bits=16"


def usual_spread(game: Game, options: dict[str, str]) -> int:
    """How much better the best move usually looks than a middling one, after a look of one ply."""
    searcher = searcher_for(game)
    spreads = []
    for number in range(24):
        position = game.start(options)
        for token in Openings(searcher, options, number, default_plies(game) + number % 8)[0].moves:
            position = position.play(position.parse_move(token))
        report = searcher.search(position, Limit(depth=1), Table(8), Control(), margin=1 << 17)
        scores = [score for _, score, _ in report.moves]
        spreads.append(scores[0] - round(median(scores)))
    return max(2, round(median(spreads)))


def climb(scale: Scale, first: Settings, target: float) -> list[Settings] | None:
    """The levels from the first on up to below the top; None when it takes more than there may be."""
    levels, point, top = [first], 0.0, scale.at(1)
    if scale.score(scale.at(0), first) > target:
        point = -1.0
    while (score := scale.score(top, levels[-1])) > HIGHEST:
        if len(levels) == MAX_LEVELS - 1:
            return None
        low, high = point, 0.0 if point == -1 else 1.0
        for _ in range(TRIALS):
            point = (low + high) / 2
            if scale.score(scale.at(point), levels[-1]) < target:
                low = point
            else:
                high = point
        point = (low + high) / 2
        levels.append(scale.at(point))
    return levels if score >= LOWEST or len(levels) == 1 else levels[:-1]


def calibrate(
    game: Game, options: dict[str, str], top_nodes: int, games: int, out: Callable[[str], None]
) -> list[str]:
    """The lines for the rules file; `out` hears how it goes."""
    scale = Scale(game, options, top_nodes, games, out)
    first = scale.first()
    for target in TARGETS:
        out(f"{game.id}: steps of {target:.0%} from {first}")
        levels = climb(scale, first, target)
        if levels is not None:
            break
    else:
        raise ValueError(
            f"{MAX_LEVELS} levels are too few for {game.id} up to {top_nodes} nodes; take fewer"
        )
    table = "".join(f"    ({nodes:_}, {margin}, {slip}),\n" for nodes, margin, slip in levels)
    return [f"LEVELS = {len(levels) + 1}", f"LEVEL_TABLE = (\n{table})"]
