"""Programs that speak the Go Text Protocol, version 2 (Farneback), for games of placing stones."""

import time

from engine.match.description import Clock, Description
from engine.match.external import LATE_GRACE_S, MOVE_TIMEOUT_S, START_TIMEOUT_S, Program
from engine.match.play import Choice, PlayerFailed, Situation

#: The colours of seats 0 and 1: black begins.
COLOURS = ("black", "white")


class Refused(PlayerFailed):
    """The program answered a command with an error."""


class GtpPlayer:
    """A GTP program; moves are in the game's own notation."""

    clock: Clock | None = None

    def __init__(self, description: Description, board_size: int) -> None:
        self._description = description
        self._board_size = board_size
        self._program: Program | None = None
        self._sent_moves: list[str] = []

    def begin(self, seat: int) -> None:
        if self._program is None or not self._program.is_alive:
            self.close()
            self._program = Program(self._description.value)
        self._command(f"boardsize {self._board_size}")
        self._command("clear_board")
        if self._description.limit.time_ms is not None:
            self._command(f"time_settings 0 {max(1, self._description.limit.time_ms // 1000)} 1")
        self._sent_moves = []

    def choose(self, situation: Situation) -> Choice:
        moves = list(situation.moves)
        if moves[: len(self._sent_moves)] != self._sent_moves:
            raise PlayerFailed("the program is in another game")
        try:
            position = situation.start
            for ply, move in enumerate(moves):
                if ply >= len(self._sent_moves):
                    self._send_move(f"play {COLOURS[position.turn]} {move}", move)
                position = position.replay(move)
            time_ms = self._description.limit.time_ms
            answer = self._command(
                f"genmove {COLOURS[position.turn]}",
                MOVE_TIMEOUT_S if time_ms is None else time_ms / 1000 + LATE_GRACE_S,
            ).lower()
        except PlayerFailed:
            self.close()
            raise
        if answer == "resign":
            raise PlayerFailed("resigned")
        self._sent_moves = [*moves, answer]
        return Choice(answer)

    def close(self) -> None:
        if self._program is not None:
            self._program.close()
            self._program = None

    def _command(self, command: str, seconds: float | None = None) -> str:
        """The answer to a command; Refused if the program rejects it."""
        program = self._program
        assert program is not None, "begin comes first"
        program.send(command)
        deadline = time.monotonic() + (START_TIMEOUT_S if seconds is None else seconds)
        while not (line := program.read(deadline, f"answer to {command!r}")):
            pass
        if line[0] != "=":
            raise Refused(f"{program.name} refuses {command!r}: {line[1:].strip()[:80]}")
        while program.read(deadline, "end of an answer"):
            pass
        return line[1:].strip()

    def _send_move(self, command: str, move: str) -> None:
        """Sends a move to the program, which may refuse a pass.

        Some programs (GRhino) do: for them a side without a move passes automatically.
        """
        try:
            self._command(command)
        except Refused:
            if move != "pass":
                raise
