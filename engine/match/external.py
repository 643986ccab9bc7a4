"""Programs as players, over pipes: what the protocols have in common, with a time-out on
everything.
"""

import os
import select
import shlex
import subprocess
import time

from engine.match.play import PlayerFailed

#: A program may take so long to start, to accept options, and to begin a game.
START_S = 20
#: A move without a limit of time may take so long.
PATIENCE_S = 120
#: A move with a limit of time is waited for so much longer; the clock judges it then.
LATE_S = 5
MAX_LINE = 1 << 20


class Program:
    """A process that is talked to in lines; PlayerFailed with the reason when it dies, hangs or
    cannot be started.
    """

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
            raise PlayerFailed(f"{command!r} is no command: {error}") from error
        self._buffer = b""
        self._hangs = False

    def send(self, line: str) -> None:
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(f"{line}\n".encode())
        except OSError as error:
            raise PlayerFailed(self._ended()) from error

    def read(self, deadline: float, awaited: str) -> str:
        """The next line; PlayerFailed at the deadline (of `time.monotonic`), saying what was waited
        for.
        """
        assert self._process.stdout is not None
        while b"\n" not in self._buffer:
            ready, _, _ = select.select(
                [self._process.stdout], [], [], max(0.0, deadline - time.monotonic())
            )
            if not ready:
                self._hangs = True
                raise PlayerFailed(f"{self.name} hangs: no {awaited} in time")
            chunk = os.read(self._process.stdout.fileno(), 65536)
            if not chunk or len(self._buffer) > MAX_LINE:
                raise PlayerFailed(
                    self._ended() if not chunk else f"{self.name} writes lines without end"
                )
            self._buffer += chunk
        line, _, self._buffer = self._buffer.partition(b"\n")
        return line.decode(errors="replace").strip()

    def wait_for(self, word: str, seconds: float | None = None) -> str:
        """The next line that begins with a word; others are skipped."""
        deadline = time.monotonic() + (START_S if seconds is None else seconds)
        while True:
            line = self.read(deadline, word)
            if line.split(" ", 1)[0] == word:
                return line

    def close(self, farewell: str = "quit") -> None:
        """Asks it to end, and kills it when it does not within a second, or has kept us waiting
        before.
        """
        try:
            if not self._hangs:
                self.send(farewell)
            self._process.wait(0 if self._hangs else 1)
        except (PlayerFailed, subprocess.TimeoutExpired):
            self._process.kill()
            self._process.wait()
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                stream.close()

    @property
    def alive(self) -> bool:
        return self._process.poll() is None

    def _ended(self) -> str:
        try:
            return f"{self.name} ended with code {self._process.wait(1)}"
        except subprocess.TimeoutExpired:
            return f"{self.name} closed its pipe"
