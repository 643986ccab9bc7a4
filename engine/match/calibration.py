"""Calibrates the levels of a game, so that each scores about the same against the one below.

The levels are points on a scale from 0 to 1. At 0 a player makes careless one-ply searches with a
wide margin; at 1 it searches the nodes of the top level's stand-in, without errors. In between the
nodes grow geometrically, and margin and slip shrink. If even the weak end is too strong for level
2, the scale continues down to -1 with wider margins. Each level is the point that scores the target
against the level below, found by bisection over short matches.
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

#: Maximum number of levels of a game.
MAX_LEVELS = 8
#: Target scores of a step; the first that needs at most MAX_LEVELS levels is used.
TARGETS = (0.7, 0.74, 0.79, 0.83)
#: The lowest score that a step may have.
LOWEST = 0.65
#: The highest score that a step may have.
HIGHEST = 0.85
#: The target score of level 1 against the greedy player.
GREEDY_SCORE = 0.38
#: Bisections per level; more would be finer than a short match can resolve.
TRIALS = 4
#: The margin at the lowest end of the scale, as a multiple of the usual margin.
WIDEST_MARGIN_FACTOR = 32
#: Careless moves per thousand, for each unit of distance from the top of the scale.
SLIP_PER_UNIT = 1200
#: Maximum number of careless moves per thousand.
MAX_SLIP = 900
#: Plies after which a trial's game is a draw.
MAX_PLIES = 200
#: The seed of all trials.
TRIAL_SEED = 7
#: The number of openings from which the usual margin is computed.
MARGIN_OPENINGS = 24

#: Nodes, margin and slip of a level.
Settings = tuple[int, int, int]


class Scale:
    """The settings between the weakest and the top player, and trial matches between them.

    It passes a line of text about each trial to `out`.
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
        self._scores: dict[tuple[str, str], float] = {}
        self._margin = usual_margin(game, options)

    def at(self, point: float) -> Settings:
        """Nodes, margin and slip at a point from -1 to 1."""
        if point < 0:
            return (2, round(self._margin * WIDEST_MARGIN_FACTOR**-point), MAX_SLIP)
        distance = 1 - point
        return (
            max(2, round(self._top_nodes**point)),
            round(self._margin * distance**2),
            min(round(SLIP_PER_UNIT * distance), MAX_SLIP),
        )

    def find_level_1(self) -> Settings:
        """Finds level 1, which scores about GREEDY_SCORE against the greedy player."""
        low, high = 0, 1000
        for _ in range(TRIALS):
            slip = (low + high) // 2
            if self.measure_score((1, self._margin, slip), "greedy") > GREEDY_SCORE:
                low = slip
            else:
                high = slip
        return (1, self._margin, (low + high) // 2)

    def measure_score(self, settings: Settings, opponent: Settings | str) -> float:
        """Plays a short match; returns the score of the settings against the opponent."""
        players = (
            description_of(settings),
            opponent if isinstance(opponent, str) else description_of(opponent),
        )
        if players in self._scores:
            return self._scores[players]
        header = Header(
            self.game.id, self.game.digest, players, TRIAL_SEED, default_plies(self.game),
            MAX_PLIES, self._options, compact=True,
        )  # fmt: skip
        summary = run_match(Log(header, None), self._games)
        assert summary is not None, "a trial has one pair at least"
        self._scores[players] = summary.score
        self._out(f"{settings} against {opponent}: {summary.score:.1%}")
        return summary.score


def description_of(settings: Settings) -> str:
    """The settings as the description of a player."""
    nodes, margin, slip = settings
    return f"nodes={nodes},margin={margin},slip={slip},table=fresh,table_bits=16"


def usual_margin(game: Game, options: dict[str, str]) -> int:
    """The median, over openings, of the best move's lead over the median move at one ply."""
    searcher = searcher_for(game)
    spreads = []
    for number in range(MARGIN_OPENINGS):
        position = game.start(options)
        for token in Openings(searcher, options, number, default_plies(game) + number % 8)[0].moves:
            position = position.play(position.parse_move(token))
        report = searcher.search(position, Limit(depth=1), Table(8), Control(), margin=1 << 17)
        scores = [score for _, score, _ in report.moves]
        spreads.append(scores[0] - round(median(scores)))
    return max(2, round(median(spreads)))


def find_levels(scale: Scale, first: Settings, target: float) -> list[Settings] | None:
    """The levels from `first` to the one below the top; None if MAX_LEVELS do not suffice."""
    levels, point, top = [first], 0.0, scale.at(1)
    if scale.measure_score(scale.at(0), first) > target:
        point = -1.0
    while (score := scale.measure_score(top, levels[-1])) > HIGHEST:
        if len(levels) == MAX_LEVELS - 1:
            return None
        low, high = point, 0.0 if point == -1 else 1.0
        for _ in range(TRIALS):
            point = (low + high) / 2
            if scale.measure_score(scale.at(point), levels[-1]) < target:
                low = point
            else:
                high = point
        point = (low + high) / 2
        levels.append(scale.at(point))
    return levels if score >= LOWEST or len(levels) == 1 else levels[:-1]


def calibrate(
    game: Game, options: dict[str, str], top_nodes: int, games: int, out: Callable[[str], None]
) -> list[str]:
    """The lines for the rules file; `out` receives a line on each trial.

    Raises ValueError if MAX_LEVELS do not suffice.
    """
    scale = Scale(game, options, top_nodes, games, out)
    first = scale.find_level_1()
    for target in TARGETS:
        out(f"{game.id}: steps of {target:.0%} from {first}")
        levels = find_levels(scale, first, target)
        if levels is not None:
            break
    else:
        raise ValueError(
            f"{MAX_LEVELS} levels are too few for {game.id} up to {top_nodes} nodes:"
            " lower --top-nodes"
        )
    table = "".join(f"    ({nodes:_}, {margin}, {slip}),\n" for nodes, margin, slip in levels)
    return [f"LEVELS = {len(levels) + 1}", f"LEVEL_TABLE = (\n{table})"]
