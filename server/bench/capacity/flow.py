"""The simulated path of a move: client, proxy, node, group commit, disk, bus and back.

The structure follows server/runtime/room_runner.py and server/store/writer.py; the cost of each
step was measured.
"""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from server.bench.capacity.costs import Costs
from server.bench.capacity.machine import Disk, Done, Machine, Process, Simulation, draws
from server.store.writer import BUSY_GROUP, GATHER_S, MAX_GROUP

#: Moves of a drawn match of tic-tac-toe.
PLIES = 9
#: Operations per match: its moves and two commands for the next match.
OPS = PLIES + 2

#: The share of an operation's cost at its node that is spent before the commit.
DECIDE_SHARE = 0.4
#: Interval between the pieces of an idle process's work, in seconds.
BACKGROUND_S = 0.05


@dataclass(frozen=True, slots=True)
class Layout:
    """The placement of processes. With `shared_cores`, one machine with that many cores runs
    everything, players included; otherwise nodes, proxy, broker and database have their own cores,
    and the players are elsewhere.
    """

    nodes: int
    shared_cores: int | None = None
    database_cores: int = 8
    proxy_threads: int = 2


class Writer:
    """A node's group commit: writes what is queued, then the next group once that one is
    durable.
    """

    def __init__(self, model: "Model", node: Process, backend: Process) -> None:
        self.groups = 0
        self._model = model
        self._node = node
        self._backend = backend
        self._waiting: deque[Done] = deque()
        self._busy = False

    def write(self, committed: Done) -> None:
        self._waiting.append(committed)
        if not self._busy:
            self._write_group()

    def _write_group(self) -> None:
        if not self._waiting:
            self._busy = False
            return
        self._busy = True
        self.groups += 1
        group = [self._waiting.popleft() for _ in range(min(MAX_GROUP, len(self._waiting)))]
        costs = self._model.costs
        self._node.give(costs.node_group_s, partial(self._send, group, costs))

    def _send(self, group: list[Done], costs: Costs) -> None:
        work_s = costs.database_group_s + costs.database_op_s * len(group)

        def answered() -> None:
            self._node.give(0, lambda: self._end(group))

        self._backend.give(
            work_s, lambda: self._model.disk.flush(lambda: self._backend.give(0, answered))
        )

    def _end(self, group: list[Done]) -> None:
        for committed in group:
            committed()
        if len(group) >= BUSY_GROUP:
            self._model.simulation.after(GATHER_S, self._write_group)
        else:
            self._write_group()


class Model:
    """A simulated cluster; `operate` sends one operation through it."""

    def __init__(self, costs: Costs, layout: Layout, seed: int) -> None:
        self.simulation = Simulation(seed)
        self.costs = costs
        self.layout = layout
        rng = self.simulation.rng
        cores = layout.shared_cores
        self._shared = Machine(self.simulation, cores) if cores else None
        self.machines = [self._shared] if self._shared else []
        self.disk = Disk(self.simulation, draws(costs.fsync_s, rng))
        #: A node's cost of an operation on another node.
        self.remote_op_s = max(0.0, costs.node_away_op_s - costs.node_here_op_s)
        # Players on other machines are not counted; with 1000 cores none of them waits.
        self.client = Process(
            self._shared or Machine(self.simulation, 1000), costs.client_wake_s, in_turns=True
        )
        machine = self._machine(layout.proxy_threads)
        self.proxy = [Process(machine, costs.proxy_wake_s) for _ in range(layout.proxy_threads)]
        self.nodes = [
            Process(self._machine(1), costs.node_wake_s, in_turns=True) for _ in range(layout.nodes)
        ]
        self._connections = 0
        self.broker = Process(self._machine(1), costs.broker_wake_s)
        self.database = self._machine(layout.database_cores)
        self.backends = [Process(self.database, costs.database_wake_s) for _ in range(layout.nodes)]
        self.writers = [Writer(self, *pair) for pair in zip(self.nodes, self.backends, strict=True)]
        if self._shared:
            self._add_background()

    def _machine(self, cores: int) -> Machine:
        """The shared machine, or a new one."""
        if self._shared:
            return self._shared
        self.machines.append(Machine(self.simulation, cores))
        return self.machines[-1]

    def _add_background(self) -> None:
        """Adds the work of idle processes."""
        share = self.costs.background
        for process, name in (
            *((node, "node") for node in self.nodes), (self.backends[0], "database"),
            (self.proxy[0], "proxy"),
            (self.broker, "broker"),
        ):  # fmt: skip
            if share.get(name, 0) > 0:
                self._keep_busy(process, share[name] * BACKGROUND_S)

    def _keep_busy(self, process: Process, work_s: float) -> None:
        process.give(work_s)
        self.simulation.after(BACKGROUND_S, lambda: self._keep_busy(process, work_s))

    def operate(self, player_node: int, opponent_node: int, acked: Done, arrived: Done) -> None:
        """Simulates a command of a player on one node whose opponent may be on another. Calls
        `acked` when the ack has reached the player, and `arrived` when the event has reached the
        opponent.
        """
        costs = self.costs
        same_node = player_node == opponent_node
        node = self.nodes[player_node]
        part_s, leg_s = costs.client_op_s / 3, costs.proxy_op_s / 3

        def committed() -> None:
            node.give(costs.node_here_op_s * (1 - DECIDE_SHARE), published)

        def published() -> None:
            answer(acked)
            if same_node:
                answer(arrived)
            self.broker.give(
                costs.broker_here_op_s if same_node else costs.broker_away_op_s, forwarded
            )

        def forwarded() -> None:
            node.give(0)  # the broker's acknowledgement
            if not same_node:
                self.nodes[opponent_node].give(self.remote_op_s, lambda: answer(arrived))

        def answer(received: Done) -> None:
            self._proxy_thread().give(leg_s, lambda: self.client.give(part_s, received))

        def decide() -> None:
            node.give(
                costs.node_here_op_s * DECIDE_SHARE,
                lambda: self.writers[player_node].write(committed),
            )

        self.client.give(part_s, lambda: self._proxy_thread().give(leg_s, decide))

    def _proxy_thread(self) -> Process:
        """The proxy's thread for a connection; the threads share the connections evenly."""
        self._connections += 1
        return self.proxy[self._connections % len(self.proxy)]


@dataclass
class LoadCounts:
    """Acknowledged moves and operations of a load after the warm-up."""

    seconds: float
    moves: int = 0
    ops: int = 0

    @property
    def per_s(self) -> float:
        return self.moves / self.seconds


class SimulatedPair:
    """Two players who repeat the same match, like `server.bench.pairs.Pair`: the next command
    starts when the last one has been acknowledged and has arrived.
    """

    def __init__(
        self,
        model: Model,
        counts: LoadCounts,
        nodes: tuple[int, int],
        schedule: Callable[[Done], None],
    ) -> None:
        self._model = model
        self._counts = counts
        self._nodes = nodes
        self._schedule = schedule
        self._step = 0
        self._pending_replies = 0

    def send_next(self) -> None:
        """Sends the next command."""
        model = self._model
        mover = (self._step + self._step // OPS) % 2
        is_move = self._step % OPS < PLIES
        self._pending_replies = 2

        def acked() -> None:
            self._counts.ops += 1
            if is_move:
                self._counts.moves += 1
            self._on_reply()

        model.operate(self._nodes[mover], self._nodes[1 - mover], acked, self._on_reply)

    def _on_reply(self) -> None:
        self._pending_replies -= 1
        if self._pending_replies == 0:
            self._step += 1
            if self._step % OPS < PLIES:
                self._schedule(self.send_next)
            else:
                self.send_next()


class Pace:
    """Starts moves at a rate over all pairs, or at once, like `server.bench.pairs.Meter`."""

    def __init__(self, simulation: Simulation, per_s: float | None) -> None:
        self._simulation = simulation
        self._per_s = per_s
        self._next_s = 0.0

    def schedule(self, move: Done) -> None:
        if self._per_s is None:
            move()
            return
        self._next_s = max(self._next_s + 1 / self._per_s, self._simulation.now_s)
        self._simulation.after(self._next_s - self._simulation.now_s, move)


def play(
    model: Model,
    pairs: int,
    per_s: float | None,
    seconds: float,
    warm_s: float = 1.0,
    meet: bool = False,
) -> LoadCounts:
    """Simulates pairs of players and returns their counts. The connections are spread evenly over
    the nodes; with `meet`, the pairs are, and both players of a pair are on one node.
    """
    counts = LoadCounts(seconds)
    schedule = Pace(model.simulation, per_s).schedule
    count = model.layout.nodes
    for n in range(pairs):
        nodes = (n % count, n % count) if meet else (2 * n % count, (2 * n + 1) % count)
        schedule(SimulatedPair(model, counts, nodes, schedule).send_next)
    model.simulation.run(warm_s)
    end_warm_up(model, counts)
    model.simulation.run(warm_s + seconds)
    return counts


def end_warm_up(model: Model, counts: LoadCounts) -> None:
    """Ends the warm-up: resets all counts."""
    counts.moves = counts.ops = 0
    for process in (model.client, *model.proxy, *model.nodes, model.broker, *model.backends):
        process.used_s, process.wakes = 0.0, 0
    for writer in model.writers:
        writer.groups = 0
    for machine in model.machines:
        machine.busy_s = 0.0
