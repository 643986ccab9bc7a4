"""A lesson as text: its page, its searches, and what to look for in them."""

import textwrap
from collections.abc import Iterator, Sequence

from engine.teach.lessons.lesson import Lesson, Run, fill_texts
from engine.teach.output.style import PLAIN, WIDTH, Style, outline
from engine.teach.output.text import LOGS, counts_text, format_trace, result_text
from engine.teach.trace import Trace


def format_lesson(
    lesson: Lesson, traces: Sequence[Trace], log: str | None = None, style: Style = PLAIN
) -> str:
    """Returns the text of a lesson; with a log of that name, all searches in full.

    The solution of an exercise follows the searches in full.
    """
    texts = fill_texts(lesson, traces)
    underline = "" if style.has_colour else f"{'=' * len(lesson.title)}\n"
    head = f"{style.paint('title', lesson.title)}\n{underline}"
    parts = [head + textwrap.fill(texts.page, WIDTH, break_on_hyphens=False)]
    runs = list(zip(lesson.runs, traces, strict=True))
    if log is not None:
        parts += [format_trace(trace, log, style).rstrip("\n") for trace in traces]
    else:
        drawn = [(run, trace) for run, trace in runs if run.log != "none"]
        parts += ["\n".join(_run_lines(run, trace, style)) for run, trace in drawn]
        if len(drawn) < len(runs) and not lesson.solution:
            rest = [line for run in runs if run not in drawn for line in _run_lines(*run, style)]
            parts.append("\n".join([*([parts.pop()] if drawn else []), *rest]))
    hints = texts.look_for if log is None else (*texts.look_for, *texts.solution)
    hints = (*hints, *lesson.commands)
    parts.append("\n".join(map(_bullet, hints)))
    return "\n\n".join(parts) + "\n"


def _bullet(text: str) -> str:
    return textwrap.fill(
        text, WIDTH, initial_indent="- ", subsequent_indent="  ", break_on_hyphens=False
    )


def _run_lines(run: Run, trace: Trace, style: Style) -> Iterator[str]:
    """Yields a search as the lesson shows it: its caption and counts, then its log."""
    lines = list(LOGS[run.log](trace))
    result = "" if lines else f"{result_text(trace)}; "
    counts = "" if run.log == "leaves" else counts_text(trace)
    summary = f"{run.caption}: {result}{counts}"
    yield from textwrap.wrap(summary, WIDTH, subsequent_indent="  ", break_on_hyphens=False)
    yield from outline(lines, style)
