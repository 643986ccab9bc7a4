"""Chess programs that speak UCI (the Universal Chess Interface of Huber and Meyer-Kahlen)."""

import time

from engine.match.description import Description
from engine.match.external import LATE_GRACE_S, MOVE_TIMEOUT_S, START_TIMEOUT_S, Program
from engine.match.play import Choice, PlayerFailed, Situation
from engine.search.job import MATE

#: The values of options that a program has and the description does not set.
DEFAULT_OPTIONS = {"Threads": "1", "Hash": "16"}


class UciPlayer:
    """A UCI program. It starts before its first game, runs on between games, and restarts after
    a failure."""

    def __init__(self, description: Description) -> None:
        self.clock = description.clock
        self._description = description
        self._program: Program | None = None

    def begin(self, seat: int) -> None:
        if self._program is None or not self._program.is_alive:
            self.close()
            self._program = self._start()
        self._program.send("ucinewgame")
        self._wait_until_ready(self._program)

    def choose(self, situation: Situation) -> Choice:
        program = self._program
        assert program is not None, "begin comes first"
        moves = f" moves {' '.join(situation.moves)}" if situation.moves else ""
        program.send(f"position fen {situation.start.text()}{moves}")
        program.send(self._go_command(situation))
        seconds = self._timeout_s(situation)
        deadline = time.monotonic() + seconds
        score, nodes = None, 0
        while True:
            try:
                words = program.read(deadline, "bestmove").split()
            except PlayerFailed:
                self.close()
                raise
            if words[:1] == ["info"] and "score" in words:
                score = _score(words) if _score(words) is not None else score
            if words[:1] == ["info"] and "nodes" in words[:-1]:
                nodes = int(words[words.index("nodes") + 1])
            if words[:1] == ["bestmove"]:
                return Choice(words[1] if len(words) > 1 else "(none)", score, nodes)

    def close(self) -> None:
        if self._program is not None:
            self._program.close()
            self._program = None

    def _start(self) -> Program:
        program = Program(self._description.value)
        try:
            self._set_options(program)
        except PlayerFailed:
            program.close()
            raise
        return program

    def _set_options(self, program: Program) -> None:
        program.send("uci")
        offered = set()
        deadline = time.monotonic() + START_TIMEOUT_S
        while (line := program.read(deadline, "uciok")) != "uciok":
            if line.startswith("option name "):
                offered.add(line.removeprefix("option name ").partition(" type ")[0])
        given = {
            name[4:]: value
            for name, value in self._description.settings.items()
            if name.startswith("set.")
        }
        if "elo" in self._description.settings:
            given |= {"UCI_LimitStrength": "true", "UCI_Elo": self._description.settings["elo"]}
        if missing := given.keys() - offered:
            raise PlayerFailed(f"{program.name} has no option {', '.join(sorted(missing))}")
        defaults = {name: value for name, value in DEFAULT_OPTIONS.items() if name in offered}
        for name, value in (defaults | given).items():
            program.send(f"setoption name {name} value {value}")
        self._wait_until_ready(program)

    def _wait_until_ready(self, program: Program) -> None:
        program.send("isready")
        program.wait_for("readyok")

    def _go_command(self, situation: Situation) -> str:
        limit, words = self._description.limit, ["go"]
        if limit.nodes is not None:
            words.append(f"nodes {limit.nodes}")
        if limit.depth is not None:
            words.append(f"depth {limit.depth}")
        if limit.time_ms is not None:
            words.append(f"movetime {limit.time_ms}")
        if self.clock is not None and situation.clocks_ms is not None:
            own, other = (max(1, left) for left in situation.clocks_ms)
            white, black = (own, other) if situation.position.turn == 0 else (other, own)
            words.append(f"wtime {white} btime {black}")
            words.append(f"winc {self.clock.increment_ms} binc {self.clock.increment_ms}")
        return " ".join(words if len(words) > 1 else ["go", "movetime 1000"])

    def _timeout_s(self, situation: Situation) -> float:
        if situation.clocks_ms is not None:
            return max(0, situation.clocks_ms[0]) / 1000 + LATE_GRACE_S
        time_ms = self._description.limit.time_ms
        return MOVE_TIMEOUT_S if time_ms is None else time_ms / 1000 + LATE_GRACE_S


def _score(words: list[str]) -> int | None:
    """The score in centipawns, or MATE minus plies as our search counts it.

    None for a bound, and for a score that cannot be parsed.
    """
    if "lowerbound" in words or "upperbound" in words:
        return None
    at = words.index("score")
    try:
        value = int(words[at + 2])
    except (IndexError, ValueError):
        return None
    if words[at + 1] == "cp":
        return value
    return MATE - 2 * value + 1 if value > 0 else -MATE - 2 * value
