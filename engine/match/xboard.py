"""Chess programs that speak the xboard protocol, version 2 (Mann and Muller, "Chess Engine
Communication Protocol").
"""

import time

from engine.match.description import Description
from engine.match.external import LATE_GRACE_S, MOVE_TIMEOUT_S, Program
from engine.match.play import Choice, PlayerFailed, Situation

#: Seconds to wait for a program's features. A program of version 2 sends them within two seconds; a
#: program of version 1 sends none.
FEATURES_S = 3
#: The first words of a line with which a program refuses a command.
REFUSED = ("Illegal", "Error", "tellusererror")


class XboardPlayer:
    """An xboard program, which receives the game move by move and restarts after a failure."""

    def __init__(self, description: Description) -> None:
        self.clock = description.clock
        self._description = description
        self._program: Program | None = None
        self._features: dict[str, str] = {}
        self._sent_moves: list[str] | None = None

    def begin(self, seat: int) -> None:
        if self._program is None or not self._program.is_alive:
            self.close()
            self._program = Program(self._description.value)
            self._negotiate_features(self._program)
        self._sent_moves = None

    def choose(self, situation: Situation) -> Choice:
        program = self._program
        assert program is not None, "begin comes first"
        moves = list(situation.moves)
        is_continuation = self._sent_moves is not None and moves[:-1] == self._sent_moves
        try:
            if not is_continuation:
                self._set_up(program, situation)
            self._send_clocks(program, situation)
            if is_continuation:
                program.send(self._move_line(moves[-1]))
            else:
                program.send("go")
            choice = self._await_move(program, self._timeout_s(situation))
        except PlayerFailed:
            self.close()
            raise
        self._sent_moves = [*moves, choice.move]
        return choice

    def close(self) -> None:
        if self._program is not None:
            self._program.close()
            self._program = None

    def _negotiate_features(self, program: Program) -> None:
        program.send("xboard")
        program.send("protover 2")
        self._features = {"usermove": "0", "ping": "0", "setboard": "0"}
        deadline = time.monotonic() + FEATURES_S
        while self._features.get("done") != "1":
            try:
                line = program.read(deadline, "features")
            except PlayerFailed:
                if not program.is_alive:
                    raise
                return  # a version 1 program sends none
            if line.startswith("feature "):
                self._features |= _features(line)
                deadline = time.monotonic() + FEATURES_S * (
                    20 if self._features.get("done") == "0" else 1
                )
        for name in self._features:
            program.send(f"accepted {name}")

    def _set_up(self, program: Program, situation: Situation) -> None:
        """Sends a new game, the limits and the moves so far."""
        limit = self._description.limit
        for line in (
            "new",
            "random" if self._features.get("random") == "1" else "",
            "easy",
            "post",
            "force",
        ):
            if line:
                program.send(line)
        if situation.start != situation.start.game.start(situation.start.options):
            if self._features["setboard"] != "1":
                raise PlayerFailed(f"{program.name} cannot set up a position")
            program.send(f"setboard {situation.start.text()}")
        if self.clock is not None:
            minutes, seconds = divmod(self.clock.base_ms // 1000, 60)
            program.send(f"level 0 {minutes}:{seconds:02} {self.clock.increment_ms / 1000:g}")
        if limit.time_ms is not None:
            program.send(f"st {limit.time_ms / 1000:g}")
        if limit.depth is not None:
            program.send(f"sd {limit.depth}")
        for move in situation.moves:
            program.send(self._move_line(move))
        if self._features["ping"] == "1":
            program.send("ping 1")
            program.wait_for("pong")

    def _send_clocks(self, program: Program, situation: Situation) -> None:
        if situation.clocks_ms is not None:
            own, other = situation.clocks_ms
            program.send(f"time {max(1, own // 10)}")
            program.send(f"otim {max(1, other // 10)}")

    def _move_line(self, move: str) -> str:
        return f"usermove {move}" if self._features["usermove"] == "1" else move

    def _await_move(self, program: Program, seconds: float) -> Choice:
        deadline = time.monotonic() + seconds
        score, nodes = None, 0
        while True:
            line = program.read(deadline, "move")
            words = line.split()
            if words[:1] == ["move"] and len(words) > 1:
                return Choice(words[1], score, nodes)
            if words[:3] == ["My", "move", "is:"] and len(words) > 3:
                return Choice(words[3], score, nodes)
            if words[:1] == ["resign"]:
                raise PlayerFailed(f"{program.name} resigned")
            if words and words[0] in REFUSED:
                raise PlayerFailed(f"{program.name} refuses: {line[:80]}")
            if len(words) >= 4 and all(word.lstrip("+-").isdecimal() for word in words[1:4]):
                # A line of thinking output has ply, score, time, nodes and moves.
                score, nodes = int(words[1]), int(words[3])

    def _timeout_s(self, situation: Situation) -> float:
        if situation.clocks_ms is not None:
            return max(0, situation.clocks_ms[0]) / 1000 + LATE_GRACE_S
        time_ms = self._description.limit.time_ms
        return MOVE_TIMEOUT_S if time_ms is None else time_ms / 1000 + LATE_GRACE_S


def _features(line: str) -> dict[str, str]:
    """The features in a line such as: feature ping=1 myname="Crafty 20" done=1."""
    features = {}
    rest = line.removeprefix("feature ").strip()
    while "=" in rest:
        name, _, rest = rest.partition("=")
        if rest.startswith('"'):
            value, _, rest = rest[1:].partition('"')
        else:
            value, _, rest = rest.partition(" ")
        features[name.strip()] = value
        rest = rest.strip()
    return features
