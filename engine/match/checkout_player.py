"""Another version of this project as a player, in its own process, over pipes in JSON lines.

This measures an evaluation or a search against an earlier one. `checkout=DIRECTORY,nodes=5000` runs
`python -m engine.match.checkout` of that directory, which plays the rest of the description.
"""

import shlex
import sys
import time
from pathlib import Path

import msgspec

from engine.game import Game
from engine.match.description import Clock, Description
from engine.match.external import LATE_GRACE_S, MOVE_TIMEOUT_S, Program
from engine.match.play import Choice, PlayerFailed, Situation

#: The program of a checkout, and its file there.
PROGRAM, PROGRAM_FILE = "engine.match.checkout", "engine/match/checkout.py"


class Request(msgspec.Struct, omit_defaults=True):
    """A position to choose a move in, or, with `seat`, the start of a game in that seat."""

    start: str = ""
    moves: tuple[str, ...] = ()
    seed: int = 0
    clocks_ms: tuple[int, int] | None = None
    seat: int | None = None


class Answer(msgspec.Struct, omit_defaults=True):
    """The answer to a request; `failed` says why there is no move."""

    move: str = ""
    score: int | None = None
    nodes: int = 0
    failed: str = ""


class CheckoutPlayer:
    """A player in another checkout; its process starts with the first game and plays all games."""

    def __init__(self, description: Description, game: Game, options: dict[str, str]) -> None:
        self.clock: Clock | None = description.clock
        self._description = description
        self._game = game
        self._options = options
        self._program: Program | None = None

    def begin(self, seat: int) -> None:
        if self._program is None or not self._program.is_alive:
            self.close()
            if not Path(self._description.value, PROGRAM_FILE).is_file():
                raise PlayerFailed(
                    f"{self._description.value} is not a checkout of this project:"
                    f" it has no {PROGRAM_FILE}"
                )
            settings = ",".join(
                f"{name}={value}" if value else name
                for name, value in self._description.settings.items()
            )
            options = [f"{name}={value}" for name, value in self._options.items()]
            command = [
                "env",
                "PYTHONPATH=.",
                sys.executable,
                "-m",
                PROGRAM,
                self._game.id,
                settings,
            ]
            self._program = Program(shlex.join([*command, *options]), self._description.value)
            self._program.name = "it"  # error messages name the checkout first
        self._request(Request(seat=seat), MOVE_TIMEOUT_S)  # its game may have to be compiled first

    def choose(self, situation: Situation) -> Choice:
        request = Request(
            situation.start.text(), tuple(situation.moves), situation.seed, situation.clocks_ms
        )
        time_ms = situation.clocks_ms[0] if situation.clocks_ms else self._description.limit.time_ms
        answer = self._request(
            request, MOVE_TIMEOUT_S if time_ms is None else time_ms / 1000 + LATE_GRACE_S
        )
        return Choice(answer.move, answer.score, answer.nodes)

    def close(self) -> None:
        if self._program is not None:
            self._program.close("{}")
            self._program = None

    def _request(self, request: Request, seconds: float) -> Answer:
        program = self._program
        assert program is not None, "begin comes first"
        try:
            program.send(msgspec.json.encode(request).decode())
            answer = msgspec.json.decode(
                program.read(time.monotonic() + seconds, "answer"), type=Answer
            )
        except (PlayerFailed, msgspec.DecodeError) as error:
            self.close()
            raise PlayerFailed(f"the checkout {self._description.value}: {error}") from error
        if answer.failed:
            raise PlayerFailed(answer.failed)
        return answer
