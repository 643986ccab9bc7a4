"""Steps through a search on a terminal: the line of the log, and the tree after each step."""

from collections.abc import Callable
from dataclasses import dataclass

from engine.teach.output.drawing import tree_lines
from engine.teach.output.snapshot import Snapshot, snapshot
from engine.teach.output.style import PLAIN, Style, outline
from engine.teach.output.text import step_events
from engine.teach.trace import Trace

#: The prompt, which lists the keys.
KEYS = "Enter next, b back, c next cut, e end, q quit"
#: Clears a terminal and moves the cursor to its upper left corner (ECMA-48).
CLEAR = "\033[H\033[2J"


@dataclass(frozen=True, slots=True)
class Screen:
    """A terminal or a pipe: its input and output, its style and its height."""

    write: Callable[[str], object]
    #: Shows a prompt and returns the line that the user types; None at the end of the input.
    ask: Callable[[str], str | None]
    style: Style = PLAIN
    height: int = 24
    is_terminal: bool = False

    def show(self, lines: list[str]) -> None:
        """Shows lines: on a terminal as a page, in a pipe after an empty line."""
        self.write((CLEAR if self.is_terminal else "\n") + "\n".join(lines) + "\n")


def step_through(trace: Trace, screen: Screen) -> bool:
    """Shows a search step by step; returns whether the user went on to its end."""
    events = list(step_events(trace))
    index = 0
    while True:
        count, line = events[index]
        # The prompt, its line, the title and the two lines around the tree take five lines.
        tree = fitting_tree(snapshot(trace, count), screen.style, screen.height - 5)
        title = screen.style.paint("title", f"{trace.title or trace.position}: ")
        step = f"{title}step {index + 1} of {len(events)}"
        screen.show([step, line.text, "", *tree, ""])
        following = None
        while following is None:
            is_last = index == len(events) - 1
            keys = KEYS.replace("next,", "ends,") if is_last else KEYS
            answer = screen.ask(f"{keys} > ")
            if answer is None or answer.strip() in ("q", "quit"):
                return False
            if answer.strip() == "" and is_last:
                return True
            following = _index_after(answer.strip(), index, [line.text for _, line in events])
            if following is None:
                screen.write(f"{KEYS}, or the number of a step\n")
        index = following


def _index_after(answer: str, index: int, texts: list[str]) -> int | None:
    """The index of the event that the user's answer asks for; None if the answer is not valid."""
    last = len(texts) - 1
    match answer:
        case "" | "n":
            return min(index + 1, last)
        case "b":
            return max(index - 1, 0)
        case "e":
            return last
        case "c":
            later = (i for i in range(index + 1, last) if texts[i].startswith("cut-off"))
            return next(later, last)
    return min(max(int(answer), 1), last + 1) - 1 if answer.isascii() and answer.isdigit() else None


def fitting_tree(shown: Snapshot, style: Style, height: int) -> list[str]:
    """Returns at most `height` lines: the whole tree, its current path, or a part of that path."""
    lines = list(outline(tree_lines(shown), style))
    if len(lines) > height:
        rows = list(tree_lines(shown, expanded=shown.path()))
        lines = list(outline(rows, style))
        current = next((i for i, row in enumerate(rows) if row.mark == "current"), len(rows) - 1)
        top = max(0, min(current - height // 2, len(lines) - height))
        lines = lines[top : top + height]
    return lines
