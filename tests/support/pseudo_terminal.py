"""A program on a pseudo-terminal or on pipes: tests type lines and wait for output."""

import codecs
import contextlib
import os
import pty
import selectors
import signal
import subprocess
import sys
import termios
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from tests.support.terminals import EmulatedTerminal

ROOT = Path(__file__).resolve().parents[2]
#: The time limit of a wait for output, in seconds; only a test that hangs reaches it.
TIMEOUT_S = 60.0
#: The time without output after which a screen counts as drawn, in seconds.
QUIET_S = 0.5


class Screen:
    """The output of a program so far, and its keyboard."""

    def __init__(self, process: subprocess.Popen[bytes], reading: int, writing: int) -> None:
        self.process = process
        self.text = ""
        self._reading = reading
        self._writing = writing
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._seen = 0
        #: The length of the output that `show` has written to its terminal.
        self._shown = 0

    def expect(self, words: str) -> str:
        """Waits for `words` after the previous match; returns the output through their end."""
        end_s = time.monotonic() + TIMEOUT_S
        while (at := self.text.find(words, self._seen)) < 0:
            left_s = end_s - time.monotonic()
            more = self._read(left_s) if left_s > 0 else None
            if more is None:
                raise AssertionError(
                    f"{words!r} was not printed. Since the last match:\n{self.text[self._seen :]}"
                )
            self.text += more
        output = self.text[self._seen : at + len(words)]
        self._seen = at + len(words)
        return output

    def expect_one(self, *words: str) -> str:
        """Waits for the first of several texts after the previous match; returns that text."""
        end_s = time.monotonic() + TIMEOUT_S
        while not (
            matches := [
                (at, text) for text in words if (at := self.text.find(text, self._seen)) >= 0
            ]
        ):
            left_s = end_s - time.monotonic()
            more = self._read(left_s) if left_s > 0 else None
            if more is None:
                raise AssertionError(
                    f"none of {words} was printed. Since the last match:\n{self.text[self._seen :]}"
                )
            self.text += more
        at, first = min(matches)
        self._seen = at + len(first)
        return first

    def show(self, terminal: EmulatedTerminal, *words: str) -> list[str]:
        """Waits until a terminal that obeys the output shows all `words`; returns its lines."""
        end_s = time.monotonic() + TIMEOUT_S
        while True:
            terminal.write(self.text[self._shown :])
            self._shown = len(self.text)
            lines = terminal.lines()
            if all(any(word in line for line in lines) for word in words):
                return lines
            left_s = end_s - time.monotonic()
            more = self._read(left_s) if left_s > 0 else None
            if more is None:
                shown = "\n".join(lines)
                raise AssertionError(f"{words} were not shown:\n{shown}")
            self.text += more

    def skip(self) -> None:
        """Leaves out what was written up to the last match: `show` goes on after it."""
        self._shown = self._seen

    def rest(self, terminal: EmulatedTerminal) -> None:
        """Shows what is written until nothing is for QUIET_S: a whole picture, for people."""
        while more := self._read(QUIET_S):
            self.text += more
        terminal.write(self.text[self._shown :])
        self._shown = len(self.text)

    def send_keys(self, keys: str) -> None:
        """Presses keys, without Enter."""
        os.write(self._writing, keys.encode())

    def type(self, line: str) -> None:
        """Types a line and Enter."""
        os.write(self._writing, f"{line}\n".encode())

    def press(self, control: str) -> None:
        """Presses a control key: "C" is Ctrl-C."""
        os.write(self._writing, bytes([ord(control) & 31]))

    def wait_for_end(self) -> int:
        """Waits for the program's end; returns its exit code."""
        while (more := self._read(TIMEOUT_S)) is not None:
            self.text += more
        return self.process.wait(TIMEOUT_S)

    def _read(self, timeout_s: float) -> str | None:
        with selectors.DefaultSelector() as selector:
            selector.register(self._reading, selectors.EVENT_READ)
            if not selector.select(timeout_s):
                return None
        try:
            chunk = os.read(self._reading, 65536)
        except OSError:  # Linux raises EIO when the last user of a pseudo-terminal has gone
            return None
        return self._decoder.decode(chunk).replace("\r\n", "\n") if chunk else None


def environ(folder: Path, **more: str) -> dict[str, str]:
    """Returns the environment of a program that has its state in `folder`.

    The program does not inherit the variables about a server or the terminal. A server that it
    starts has one search worker, because each worker takes time to start.
    """
    inherited = {
        name: value
        for name, value in os.environ.items()
        if name
        not in (
            "PLYROOM_URL",
            "PLYROOM_ASCII",
            "NO_COLOR",
            "COLORTERM",
            "TERM",
            "LC_ALL",
            "LC_CTYPE",
        )
    }
    changed = {
        "PYTHONPATH": str(ROOT),
        "XDG_STATE_HOME": str(folder / "state"),
        "XDG_DATA_HOME": str(folder / "share"),
        "PLYROOM_WORKERS": "1",
        "TERM": "xterm",
        "LANG": "C.UTF-8",
        "PLYROOM_PLAIN": "1",
    }
    return {**inherited, **changed, **more}


def plyroom(*arguments: str) -> list[str]:
    """Returns the command line of the `plyroom` command, installed or not."""
    return [sys.executable, "-P", "-m", "client", *arguments]


@contextmanager
def on_a_terminal(
    command: list[str],
    env: Mapping[str, str],
    columns: int = 80,
    rows: int = 24,
    folder: Path = Path("/"),
) -> Iterator[Screen]:
    """Runs a program in a folder, as the foreground process of a terminal of its own."""
    controller, terminal = pty.openpty()
    termios.tcsetwinsize(terminal, (rows, columns))
    process = subprocess.Popen(
        ["sh", "-c", _FOREGROUND, os.ttyname(terminal), *command],
        stdin=terminal,
        stdout=terminal,
        stderr=terminal,
        env=env,
        cwd=folder,
        start_new_session=True,
    )
    os.close(terminal)
    with _ended(process):
        try:
            yield Screen(process, controller, controller)
        finally:
            os.close(controller)


#: Opens the terminal, which the leader of a session then has as the controlling one, so that Ctrl-C
#: reaches the program; then runs the program.
_FOREGROUND = ': <> "$0"; exec "$@"'


@contextmanager
def on_pipes(command: list[str], env: Mapping[str, str]) -> Iterator[Screen]:
    """Runs a program with its input, output and messages on pipes."""
    process = subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env=env,
        cwd="/",
    )
    assert process.stdin is not None
    assert process.stdout is not None
    with process.stdin, process.stdout, _ended(process):
        yield Screen(process, process.stdout.fileno(), process.stdin.fileno())


@contextmanager
def _ended(process: subprocess.Popen[bytes]) -> Iterator[None]:
    """Ends the program at the end of the block, if it still runs."""
    try:
        yield
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(60)
            process.kill()
        process.wait(60)
