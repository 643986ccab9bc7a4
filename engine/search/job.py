"""What a search is asked and what it answers: plain data that crosses pipes and, later, a bus. No
code ever does.
"""

from typing import Literal, get_args

from msgspec import Struct

Bound = Literal["exact", "lower", "upper"]
Persona = Literal["average", "swindler", "random"]
#: Ways of playing that are no levels: see `engine.search.persona`.
PERSONAS: tuple[Persona, ...] = get_args(Persona)

#: A won position scores MATE minus the plies to its end; every evaluation stays well below.
MATE = 30_000


class Limit(Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """When to stop, whichever comes first; a search always completes depth 1. Without a depth or
    nodes, None, they are no reason to stop; ValueError for less than one.

    `clock_ms` is what the side to move has left for `moves_to_go` moves (for the rest of the match
    where that is not given), `increment_ms` what it gets after each: see `engine.search.timeman`.
    """

    depth: int | None = None
    nodes: int | None = None
    time_ms: int | None = None
    clock_ms: int | None = None
    increment_ms: int = 0
    moves_to_go: int | None = None

    def __post_init__(self) -> None:
        for name, number in (("depth", self.depth), ("nodes", self.nodes)):
            if number is not None and number < 1:
                raise ValueError(f"a limit of {name} is 1 or more, not {number}")


class Job(Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """One search: the start position in text and the moves since, for the rules with exactly this
    digest.

    `level` gives limit and choice from the game's levels; a persona has its own; without either,
    `limit` holds and the best move is played. `seed` makes the bounded choice of the weaker levels
    repeatable. Jobs of one `affinity` (a room) share a table in a worker when they can. `digest`,
    when given, is that of the position to search: whoever comes to another one refuses.
    """

    game: str
    rules: str
    options: dict[str, str]
    start: str
    moves: tuple[str, ...]
    affinity: str
    level: int | None = None
    persona: str | None = None
    limit: Limit = Limit()
    seed: int = 0
    digest: str = ""


class RootMove(Struct, frozen=True, omit_defaults=True):
    """What the search thinks of one move: score for the side to move in the evaluation's units
    (MATE at the top).
    """

    move: str
    score: int
    bound: Bound = "exact"


class Info(Struct, frozen=True, omit_defaults=True):
    """The state of a running search after a completed depth, or now and then within one; `pv`
    starts with the best move. `warming`: the search is not compiled yet, and looks less far than
    the level does.
    """

    depth: int
    score: int
    nodes: int
    nps: int
    time_ms: int
    pv: tuple[str, ...]
    moves: tuple[RootMove, ...] = ()
    warming: bool = False


class Result(Struct, frozen=True, omit_defaults=True):
    """The answer: the move to play (it differs from the best one where a level
    chooses among near-equal moves) and the last info.
    """

    move: str
    info: Info


class Load(Struct, frozen=True):
    """How busy a pool is: searches under way and waiting, and the workers that are ready, busy or
    not.
    """

    running: int
    waiting: int
    workers: int


class SearchError(Exception):
    """A search that gave no answer; the message says why."""


class RulesChanged(SearchError):
    """The worker has other rules of that game than the job was made for (`game.changed`)."""


class SearchFailed(SearchError):
    """The rules raised in the search, or every worker that took the job died or hung."""


class GameQuarantined(SearchFailed):
    """So many searches of the game failed in a row that no more are tried until its rules change."""
