"""A lesson as text: its page, its searches, and what to look for in them."""

import textwrap
from collections.abc import Iterator, Sequence

from engine.teach.lessons.lesson import Lesson, Run, filled_texts
from engine.teach.style import PLAIN, WIDTH, Style, outline
from engine.teach.text import LOGS, counts_text, format_trace, result_text
from engine.teach.trace import Trace


def format_lesson(
    lesson: Lesson, traces: Sequence[Trace], log: str | None = None, style: Style = PLAIN
) -> str:
    """Returns the text of a lesson; with a log of that name, all searches in full."""
    page, hints = filled_texts(lesson, traces)
    parts = [
        f"{style.paint('title', lesson.title)}\n{'=' * len(lesson.title)}\n"
        + textwrap.fill(" ".join(page.split()), WIDTH, break_on_hyphens=False)
    ]
    if log is None:
        runs = zip(lesson.runs, traces, strict=True)
        parts += ["\n".join(_run_lines(run, trace, style)) for run, trace in runs]
    else:
        parts += [format_trace(trace, log, style).rstrip("\n") for trace in traces]
    parts.append("\n".join(map(_bullet, hints)))
    separators = ["\n" if not before.count("\n") else "\n\n" for before in parts[:-1]]
    return "".join(part + end for part, end in zip(parts, [*separators, "\n"], strict=True))


def _bullet(text: str) -> str:
    return textwrap.fill(
        text, WIDTH, initial_indent="- ", subsequent_indent="  ", break_on_hyphens=False
    )


def _run_lines(run: Run, trace: Trace, style: Style) -> Iterator[str]:
    """Yields a search as the lesson shows it: its caption and counts, then its log."""
    lines = list(LOGS[run.log](trace))
    result = "" if lines else f"{result_text(trace)}; "
    summary = f"{run.caption}: {result}{counts_text(trace)}"
    yield from textwrap.wrap(summary, WIDTH, subsequent_indent="  ", break_on_hyphens=False)
    yield from outline(lines, style)
