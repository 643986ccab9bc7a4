"""External programs as players, over pipes, with a timeout on every read."""

import os
import select
import shlex
import subprocess
import time

from engine.match.play import PlayerFailed

#: Seconds that a program may take to start, to accept options, or to begin a game.
START_TIMEOUT_S = 20
#: Seconds that a move without a time limit may take.
MOVE_TIMEOUT_S = 120
#: Seconds to wait for a move beyond its time limit; the clock then decides the game.
LATE_GRACE_S = 5
#: Longest line of a program, in bytes.
MAX_LINE_BYTES = 1 << 20


class Program:
    """A process with a line protocol; raises PlayerFailed if it dies, hangs or cannot start."""

    def __init__(self, command: str, directory: str | None = None) -> None:
        self.name = command
        try:
            words = shlex.split(command)
            self.name = os.path.basename(words[0])
            self._process = subprocess.Popen(
                words, cwd=directory, bufsize=0,
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            )  # fmt: skip
        except OSError as error:
            missing = f" ({error.filename})" if error.filename not in (None, words[0]) else ""
            raise PlayerFailed(
                f"{self.name} cannot be started: {error.strerror}{missing}"
            ) from error
        except (ValueError, IndexError) as error:
            raise PlayerFailed(f"{command!r} is not a command: {error}") from error
        self._buffer = b""
        self._hangs = False

    def send(self, line: str) -> None:
        """Writes a line to the program."""
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(f"{line}\n".encode())
        except OSError as error:
            raise PlayerFailed(self._ended()) from error

    def read(self, deadline: float, awaited: str) -> str:
        """The next line; PlayerFailed, naming `awaited`, at the deadline (of `time.monotonic`)."""
        assert self._process.stdout is not None
        while b"\n" not in self._buffer:
            ready, _, _ = select.select(
                [self._process.stdout], [], [], max(0.0, deadline - time.monotonic())
            )
            if not ready:
                self._hangs = True
                raise PlayerFailed(f"{self.name} hangs: no {awaited} in time")
            chunk = os.read(self._process.stdout.fileno(), 65536)
            if not chunk or len(self._buffer) > MAX_LINE_BYTES:
                raise PlayerFailed(
                    self._ended()
                    if not chunk
                    else f"{self.name} writes a line of more than {MAX_LINE_BYTES:,} bytes"
                )
            self._buffer += chunk
        line, _, self._buffer = self._buffer.partition(b"\n")
        return line.decode(errors="replace").strip()

    def wait_for(self, word: str, seconds: float | None = None) -> str:
        """The next line whose first word is `word`; other lines are skipped."""
        deadline = time.monotonic() + (START_TIMEOUT_S if seconds is None else seconds)
        while True:
            line = self.read(deadline, word)
            if line.split(" ", 1)[0] == word:
                return line

    def close(self, quit_command: str = "quit") -> None:
        """Asks the program to end, and kills it if it does not within a second.

        A program that has hung before is killed at once.
        """
        try:
            if not self._hangs:
                self.send(quit_command)
            self._process.wait(0 if self._hangs else 1)
        except (PlayerFailed, subprocess.TimeoutExpired):
            self._process.kill()
            self._process.wait()
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                stream.close()

    @property
    def is_alive(self) -> bool:
        return self._process.poll() is None

    def _ended(self) -> str:
        try:
            return f"{self.name} ended with code {self._process.wait(1)}"
        except subprocess.TimeoutExpired:
            return f"{self.name} closed its pipe"
