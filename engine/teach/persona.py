"""Ways of playing that come from the teaching search, for AI seats: pure functions of position, depth and seed.

`average` takes its opponent for somebody who may err and plays for the best mean; `random` moves by lot.
"""

from dataclasses import dataclass

from engine.game import Position
from engine.teach.errors import NotPossible, TooLarge, UnknownName
from engine.teach.evaluators import lot
from engine.teach.explain import Plan, explain
from engine.teach.state import GameState
from engine.teach.study import MAX_NODES
from engine.teach.trace import Number, Trace

PERSONAS = ("average", "random")
SEAT_NODES = 20_000
"""So many nodes a seat looks at before it is content with a ply less."""


@dataclass(frozen=True, slots=True)
class Choice:
    """The move to play, what each move is worth (the best first; by lot there are no scores), and the search."""

    move: str
    scores: tuple[tuple[str, Number], ...]
    trace: Trace


def choose(persona: str, position: Position, depth: int, seed: int, max_nodes: int = SEAT_NODES) -> Choice:
    """What a persona plays; among moves of equal worth the seed decides.

    It looks less deep than asked where that takes more than max_nodes, but never less than one ply. NotPossible for a
    finished position or a depth below 1, UnknownName for another persona.
    """
    if persona not in PERSONAS:
        raise UnknownName(f"there is no persona {persona[:40]!r}; there are {', '.join(PERSONAS)}")
    if not position.moves():
        raise NotPossible("the match is over: there is no move to choose")
    if depth < 1:
        raise NotPossible(f"a persona looks at least one ply ahead, not {depth}")
    trace = _look(persona, position, depth, seed, max_nodes)
    if persona == "random":
        return Choice(trace.line[0], (), trace)
    scores = sorted(_scores(trace), key=lambda scored: -scored[1])
    best = [move for move, score in scores if score == scores[0][1]]
    return Choice(best[lot(f"{seed}:{position.digest()}", len(best))], tuple(scores), trace)


def _look(persona: str, position: Position, depth: int, seed: int, max_nodes: int) -> Trace:
    while True:
        allowed = max_nodes if depth > 1 else MAX_NODES
        plan = Plan(persona, depth, seed=seed, max_nodes=allowed, plain_limit=0)
        try:
            return explain(GameState.at_root(position, plan.ends), plan, position.game.title)
        except TooLarge:
            depth -= 1


def _scores(trace: Trace) -> list[tuple[str, Number]]:
    """The root's moves with their values."""
    nodes = trace.nodes
    return [
        (move, value)
        for parent, move, value in zip(nodes.parent, nodes.move, nodes.value, strict=True)
        if parent == 0 and isinstance(value, int | float)
    ]
