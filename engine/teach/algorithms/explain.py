"""Runs an algorithm on a state and returns its trace: the entry point for commands and lessons."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

from engine.teach.algorithms import flat, mapping, pair, polymorphic, table, variants
from engine.teach.algorithms.cutoffs import cut_off_of
from engine.teach.algorithms.meaning import meaning_of
from engine.teach.algorithms.order import given_names, order_of
from engine.teach.algorithms.study import (
    COLUMN,
    INF,
    MAX_NODES,
    MAX_PLY,
    CutOff,
    Order,
    Record,
    Study,
)
from engine.teach.errors import NotPossible, UnknownName
from engine.teach.states.evaluators import Evaluator, check_weights, evaluator_of, scale_of
from engine.teach.states.players import mover_of, with_max_player
from engine.teach.states.state import GameState, Scale, State
from engine.teach.trace import MAX_TRACE_NODES, Counts, Number, Trace, Value

#: The description of each algorithm, by its name.
ALGORITHMS = {
    "minimax": "MAX takes the greatest value, MIN the least",
    "negamax": "minimax by one rule, for the side to move",
    "alphabeta": "minimax with fewer nodes, by a window; fail-soft",
    "fail-soft": "a node returns the best value that it found",
    "fail-hard": "a node returns its own bound, alpha or beta",
    "strict": "cuts only where alpha is greater than beta",
    "one-bound": "hands down the parent's best; tests later children",
    "one-bound-early": "the same, tested after the first child too",
    "parent-bound": "the same, and stops where values are equal",
    "accumulators": "a map over the moves into an accumulator",
    "average": "the best at our plies, the mean at the opponent's",
    "max-n": "each player wants the most for themselves",
    "paranoid": "all others play against one player",
    "greedy": "the move with the best evaluation, one ply deep",
    "optimistic": "any path to a good end, as if the opponent helped",
    "random": "a legal move at random",
}
#: The titles of the algorithms that differ from their names.
TITLES = {
    "alphabeta": "alpha-beta",
    "fail-soft": "alpha-beta, fail-soft",
    "fail-hard": "alpha-beta, fail-hard",
    "strict": "alpha-beta, strict",
    "one-bound": "alpha-beta, one bound",
    "one-bound-early": "alpha-beta, one bound, early",
    "parent-bound": "alpha-beta, the parent's bound",
    "accumulators": "alpha-beta, accumulators",
}
#: The description of each form, by its name.
FORMS = {
    "flat": "one function that asks who chooses",
    "nodes": "a template method and classes for the sides",
    "pair": "two static functions, one for MAX and one for MIN",
    "map": "001's map: a visitor and accumulators",
    "table": "one function that remembers states in a table",
}
#: The algorithms that are written in each form but the flat one, which has all.
IN_FORM = {
    "nodes": ("minimax", "alphabeta", "average", "fail-hard"),
    "pair": ("minimax", "alphabeta", "average"),
    "map": ("minimax", "alphabeta", "average"),
    "table": ("minimax", "alphabeta"),
}
#: The algorithms for a utility for each player.
FOR_SEVERAL_PLAYERS = ("minimax", "average", "max-n", "greedy", "random")
#: The default of `Plan.plain_limit`, in nodes.
PLAIN_LIMIT = 50_000

#: Searches a state to a depth and returns its value; None if it chose without a search.
Algorithm = Callable[[Study, State, float], Value | None]


@dataclass(frozen=True, slots=True)
class Plan:
    """How to search a state; without a depth the search goes to the end of the game."""

    algorithm: str = "alphabeta"
    depth: int | None = None
    order: str = "game"
    evaluator: str = "estimate"
    form: str = "flat"
    seed: int = 0
    scale: Scale | None = None
    cut_off: str = "depth"
    #: The player whose values are searched, from 1; 0 is the side to move at the root.
    player: int = 0
    #: Whether alpha-beta searches each root move with a window of its own.
    fresh: bool = False
    max_nodes: int = MAX_NODES
    max_trace: int = MAX_TRACE_NODES
    #: Maximum size of plain minimax's tree that is counted, in nodes.
    plain_limit: int = PLAIN_LIMIT

    @property
    def utilities(self) -> Scale:
        """The utilities of finished games: those of the plan, or the evaluator's default."""
        return self.scale or scale_of(self.evaluator)


@dataclass(frozen=True, slots=True)
class Search:
    """A prepared search, which runs once."""

    root: State
    plan: Plan
    title: str
    study: Study
    record: Record
    algorithm: Algorithm

    @property
    def depth(self) -> float:
        return INF if self.plan.depth is None else self.plan.depth

    def run(self) -> Value | None:
        """Searches, and returns the value; raises NotPossible or TooLarge."""
        value = self.algorithm(self.study, self.root, self.depth)
        unknown = set(given_names(self.plan.order))
        unknown.difference_update(row[COLUMN["move"]] for row in self.record.nodes)
        unknown.difference_update(move for _, move, _ in self.record.skipped)
        if unknown and not self.record.truncated:
            raise NotPossible(
                f"the order names {min(unknown)[:40]}, which is not a move in this search"
            )
        return value

    def line(self) -> tuple[str, ...]:
        """Returns the principal variation as text."""
        return line_names(self.root, self.study.line)

    def size(self) -> "Size | None":
        """Returns the size of plain minimax's tree; None if it is not counted."""
        is_counted = self.plan.algorithm != "random"
        limit = self.plan.plain_limit if is_counted else 0
        return Size.of(self.root, self.study, self.depth, limit)

    def meaning(self, value: Value | None) -> str:
        """Returns the meaning of the value for the game, in words."""
        return meaning_of(self.root, self.study, self.plan.algorithm, value)


def prepare(
    root: State,
    plan: Plan,
    title: str = "",
    *,
    evaluate: Evaluator | None = None,
    cut_off: CutOff | None = None,
    order: Order | None = None,
    record: Record | None = None,
) -> Search:
    """Returns the search of a state.

    `evaluate` replaces the evaluator that the plan names, `cut_off` its cut-off rule, `order` its
    move order. `record` receives the nodes and the steps.
    Raises UnknownName or NotPossible.
    """
    check_names(plan)
    plan = with_defaults(root, plan)
    if evaluate is None:
        check_weights(root, plan.evaluator)
    root = with_max_player(root, plan.player) if plan.player else root
    algorithm = algorithm_of(root, plan)
    record = Record() if record is None else record
    record.limit = min(plan.max_trace, MAX_TRACE_NODES)
    study = Study(
        evaluate or evaluator_of(plan.evaluator, plan.utilities, plan.seed),
        order or order_of(plan.order),
        cut_off or cut_off_of(plan.cut_off),
        view="mover" if plan.algorithm == "negamax" else "root",
        record=record,
        max_nodes=plan.max_nodes,
        fresh=plan.fresh,
        goal=goal_of(root),
    )
    return Search(root, plan, title, study, record, algorithm)


def explain(
    root: State,
    plan: Plan,
    title: str = "",
    *,
    evaluate: Evaluator | None = None,
    cut_off: CutOff | None = None,
    order: Order | None = None,
) -> Trace:
    """Returns the trace of a search of a state, as `prepare` makes it.

    Raises UnknownName, NotPossible or TooLarge.
    """
    search = prepare(root, plan, title, evaluate=evaluate, cut_off=cut_off, order=order)
    value = search.run()
    nodes, skipped, steps = search.record.columns()
    root, plan, study = search.root, search.plan, search.study
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
        line=search.line(),
        counts=counts_of(study, search.size()),
        nodes=nodes,
        skipped=skipped,
        steps=steps,
        truncated=search.record.truncated,
        cut_off=plan.cut_off,
        player=plan.player,
        fresh=plan.fresh,
        meaning=search.meaning(value),
        game=root.position.game.id if isinstance(root, GameState) else "",
    )


def check_names(plan: Plan) -> None:
    """Raises UnknownName or NotPossible if no search could have this algorithm, form or depth."""
    if plan.algorithm not in ALGORITHMS:
        raise UnknownName(
            f"there is no algorithm {plan.algorithm[:40]!r}; there are {', '.join(ALGORITHMS)}"
        )
    if plan.form not in FORMS:
        raise UnknownName(f"there is no form {plan.form[:40]!r}; there are {', '.join(FORMS)}")
    if plan.form != "flat" and plan.algorithm not in IN_FORM[plan.form]:
        raise NotPossible(
            f"the form {plan.form} exists only for {', '.join(IN_FORM[plan.form])},"
            " with a single utility per leaf"
        )
    if plan.algorithm == "max-n" and plan.player:
        raise NotPossible("max-n has a value for each player: choose none, or choose paranoid")
    if plan.depth is not None and not 0 <= plan.depth <= MAX_PLY:
        raise NotPossible(f"a depth is 0 to {MAX_PLY}, not {plan.depth}")


def with_defaults(root: State, plan: Plan) -> Plan:
    """Returns the plan with the depth or the player that its algorithm implies."""
    if plan.algorithm == "greedy":
        return replace(plan, depth=1)
    if plan.algorithm == "paranoid" and not plan.player:
        return replace(plan, player=mover_of(root))
    return plan


def goal_of(root: State) -> Number:
    """Returns the least utility of a win, at which an optimistic search stops.

    With points there is none: an optimistic search then looks for the most points.
    """
    if isinstance(root, GameState) and root.position.game.rules.SEARCH != "teach":
        return root.scale.win - root.scale.by_distance * MAX_PLY
    return INF


def algorithm_of(root: State, plan: Plan) -> Algorithm:
    """Returns the function that a plan names; raises NotPossible."""
    name = plan.algorithm
    if name == "random":
        return partial(flat.random_legal, seed=plan.seed)
    ours = "max" if plan.player else root.kind
    if root.players > 1:
        return algorithm_for_several_players(plan, ours)
    if plan.form != "flat":
        return algorithm_in_form(plan, ours)
    if name in variants.VARIANTS:
        return variants.VARIANTS[name]
    functions: dict[str, Algorithm] = {
        "negamax": flat.negamax,
        "accumulators": mapping.alphabeta,
        "paranoid": flat.minimax,
        "max-n": flat.minimax,
        "greedy": flat.greedy,
        "optimistic": flat.optimistic,
        "minimax": flat.minimax,
        "alphabeta": flat.alphabeta,
        "average": partial(flat.average, ours=ours),
    }
    return functions[name]


def algorithm_in_form(plan: Plan, ours: str) -> Algorithm:
    """Returns an algorithm in another form than the flat one."""
    if plan.form == "table":
        return {"minimax": table.minimax, "alphabeta": table.alphabeta}[plan.algorithm]
    if plan.algorithm == "fail-hard":
        return polymorphic.fail_hard
    module = {"nodes": polymorphic, "pair": pair, "map": mapping}[plan.form]
    functions: dict[str, Algorithm] = {
        "minimax": module.minimax,
        "alphabeta": module.alphabeta,
        "average": partial(module.average, ours=ours),
    }
    return functions[plan.algorithm]


def algorithm_for_several_players(plan: Plan, ours: str) -> Algorithm:
    """Returns the function for a utility for each player; raises NotPossible."""
    name = plan.algorithm
    if name not in FOR_SEVERAL_PLAYERS or plan.form != "flat":
        raise NotPossible(
            f"{name} (form {plan.form}) needs a single utility per leaf: choose a player (1, 2, …),"
            f" or one of {', '.join(FOR_SEVERAL_PLAYERS)}, which are for several players"
        )
    return partial(flat.maxn, ours=ours if name == "average" else "")


def line_names(root: State, line: tuple[int, ...]) -> tuple[str, ...]:
    """Returns a line of moves as text."""
    names = []
    for move in line:
        names.append(root.name(move))
        root = root.play(move)
    return tuple(names)


def counts_of(study: Study, size: "Size | None") -> Counts:
    """Returns the counts of a search, those of plain minimax (if known), and the minimum."""
    return Counts(
        nodes=study.visited,
        leaves=study.leaves,
        plain_nodes=size.nodes if size else None,
        plain_leaves=size.leaves if size else None,
        minimum_leaves=size.minimum_leaves() if size else None,
        ordering=study.ordering,
    )


@dataclass(slots=True)
class Size:
    """The size of plain minimax's tree, with the measures that show whether it is uniform.

    `widths` holds the numbers of children that occur, `depths` the depths of the leaves.
    `alternates` is true if MAX and MIN take turns.
    """

    limit: int
    nodes: int = 0
    leaves: int = 0
    widths: frozenset[int] = frozenset()
    depths: frozenset[int] = frozenset()
    alternates: bool = True

    @classmethod
    def of(cls, root: State, study: Study, depth: float, limit: int) -> "Size | None":
        """Returns the size of plain minimax's tree; None if it has more nodes than the limit."""
        size = cls(limit)
        return size if size._add(root, study, depth, 0) else None

    def _add(self, state: State, study: Study, depth: float, level: int) -> bool:
        """Counts a state and all states below it; returns False once the limit is exceeded."""
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

    def minimum_leaves(self) -> int | None:
        """Returns the fewest leaves that alpha-beta needs: b^ceil(d/2) + b^floor(d/2) - 1.

        Returns None if the tree is not uniform or its sides do not alternate. Source: Knuth and
        Moore, An Analysis of Alpha-Beta Pruning, 1975.
        """
        if len(self.widths) != 1 or len(self.depths) != 1 or not self.alternates:
            return None
        (width,), (depth,) = self.widths, self.depths
        return int(width ** ((depth + 1) // 2) + width ** (depth // 2) - 1)
