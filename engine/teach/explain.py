"""Runs an algorithm on a state and gives the trace: the one way in for commands, lessons and
servers.
"""

from collections.abc import Callable
from dataclasses import dataclass

from engine.teach import flat, mapping, polymorphic
from engine.teach.errors import NotPossible, UnknownName
from engine.teach.evaluators import Evaluator, evaluator_of, scale_of
from engine.teach.order import given_names, order_of
from engine.teach.state import Scale, State
from engine.teach.study import INF, MAX_NODES, MAX_PLY, CutOff, Record, Study, at_depth
from engine.teach.trace import MAX_TRACE_NODES, Counts, Trace, Value

ALGORITHMS = ("minimax", "negamax", "alphabeta", "average", "random")
#: The same algorithm, written in three ways: `engine.teach.flat`, `polymorphic` and `mapping`.
FORMS = ("flat", "nodes", "map")
PLAIN_LIMIT = 50_000

Algorithm = Callable[[Study, State, float], Value | None]


@dataclass(frozen=True, slots=True)
class Plan:
    """What to do with a state. Without a depth the search goes to the end of the game."""

    algorithm: str = "alphabeta"
    depth: int | None = None
    order: str = "game"
    evaluator: str = "estimate"
    form: str = "flat"
    seed: int = 0
    scale: Scale | None = None
    max_nodes: int = MAX_NODES
    max_trace: int = MAX_TRACE_NODES
    #: So many nodes are counted at most to say what plain minimax would look at.
    plain_limit: int = PLAIN_LIMIT

    @property
    def ends(self) -> Scale:
        """What the end of a game is worth: as it was asked, or as it goes with the evaluator."""
        return self.scale or scale_of(self.evaluator)


def explain(
    root: State,
    plan: Plan,
    title: str = "",
    *,
    evaluate: Evaluator | None = None,
    cut_off: CutOff = at_depth,
) -> Trace:
    """The trace of a plan on a state; an evaluator and a cut-off rule of one's own may stand for
    the named ones.

    Raises UnknownName, NotPossible or TooLarge.
    """
    algorithm = algorithm_of(root, plan)
    if plan.depth is not None and not 0 <= plan.depth <= MAX_PLY:
        raise NotPossible(f"a depth is 0 to {MAX_PLY}, not {plan.depth}")
    record = Record(min(plan.max_trace, MAX_TRACE_NODES))
    study = Study(
        evaluate or evaluator_of(plan.evaluator, plan.ends, plan.seed),
        order_of(plan.order),
        cut_off,
        view="mover" if plan.algorithm == "negamax" else "root",
        record=record,
        max_nodes=plan.max_nodes,
    )
    depth = INF if plan.depth is None else plan.depth
    value = algorithm(study, root, depth)
    nodes, skipped, steps = record.columns()
    unknown = set(given_names(plan.order)).difference(nodes.move, skipped.move)
    if unknown and not record.truncated:
        raise NotPossible(f"the order names {min(unknown)[:40]}, which is no move anywhere here")
    return Trace(
        title=title,
        position=root.text(),
        algorithm=plan.algorithm,
        form=plan.form,
        depth=plan.depth,
        order=plan.order,
        evaluator=plan.evaluator,
        seed=plan.seed,
        view=study.view,
        value=value,
        line=line_names(root, study.line),
        counts=counts_of(root, study, depth, 0 if plan.algorithm == "random" else plan.plain_limit),
        nodes=nodes,
        skipped=skipped,
        steps=steps,
        truncated=record.truncated,
    )


def algorithm_of(root: State, plan: Plan) -> Algorithm:
    """The function that a plan names; UnknownName or NotPossible where there is none."""
    if plan.algorithm not in ALGORITHMS:
        raise UnknownName(
            f"there is no algorithm {plan.algorithm[:40]!r}; there are {', '.join(ALGORITHMS)}"
        )
    if plan.form not in FORMS:
        raise UnknownName(f"there is no form {plan.form[:40]!r}; there are {', '.join(FORMS)}")
    if plan.algorithm == "random":
        return lambda study, state, depth: flat.random_legal(study, state, depth, plan.seed)
    several = root.players > 1
    if several and plan.algorithm not in ("minimax", "average"):
        raise NotPossible(
            f"{plan.algorithm} needs one utility a leaf; for several players there are minimax and average"
        )
    if (several or plan.algorithm == "negamax") and plan.form != "flat":
        raise NotPossible(
            f"the form {plan.form} is there for minimax, alphabeta and average with one utility a leaf"
        )
    if several:
        ours = root.kind if plan.algorithm == "average" else ""
        return lambda study, state, depth: flat.maxn(study, state, depth, ours=ours)
    module = {"flat": flat, "nodes": polymorphic, "map": mapping}[plan.form]
    found: Algorithm = getattr(module, plan.algorithm)
    return found


def line_names(root: State, line: tuple[int, ...]) -> tuple[str, ...]:
    """A line of moves as text."""
    names = []
    for move in line:
        names.append(root.name(move))
        root = root.play(move)
    return tuple(names)


def counts_of(root: State, study: Study, depth: float, limit: int) -> Counts:
    """What was looked at, beside what plain minimax looks at (up to a limit), and the least that
    will do.
    """
    size = Size.of(root, study, depth, limit)
    return Counts(
        nodes=study.visited,
        leaves=study.leaves,
        plain_nodes=size.nodes if size else None,
        plain_leaves=size.leaves if size else None,
        minimum_leaves=size.knuth_moore() if size else None,
        ordering=study.ordering,
    )


@dataclass(slots=True)
class Size:
    """How large a whole tree is, and its shape if every node has as many children and every leaf is
    as deep.
    """

    limit: int
    nodes: int = 0
    leaves: int = 0
    widths: frozenset[int] = frozenset()
    depths: frozenset[int] = frozenset()
    alternates: bool = True

    @classmethod
    def of(cls, root: State, study: Study, depth: float, limit: int) -> "Size | None":
        """The size of the tree that plain minimax looks at; None if it has more nodes than the
        limit.
        """
        size = cls(limit)
        return size if size._add(root, study, depth, 0) else None

    def _add(self, state: State, study: Study, depth: float, level: int) -> bool:
        self.nodes += 1
        if self.nodes > self.limit:
            return False
        if study.stops(state, depth):
            self.leaves += 1
            self.depths |= {level}
            return True
        moves = state.moves()
        self.widths |= {len(moves)}
        for move in moves:
            after = state.play(move)
            if not self._add(after, study, depth - 1, level + 1):
                return False
            self.alternates &= {state.kind, after.kind} == {"max", "min"} or study.stops(
                after, depth - 1
            )
        return True

    def knuth_moore(self) -> int | None:
        """The fewest leaves that alpha-beta can do with: b^ceil(d/2) + b^floor(d/2) - 1; None if
        that is no matter.
        """
        if len(self.widths) != 1 or len(self.depths) != 1 or not self.alternates:
            return None
        (width,), (depth,) = self.widths, self.depths
        return int(width ** ((depth + 1) // 2) + width ** (depth // 2) - 1)
