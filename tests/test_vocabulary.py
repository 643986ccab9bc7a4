"""Identifiers and phrases that the field's words have replaced are not used again."""

import io
import re
import subprocess
import tokenize
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
#: Removed identifiers, each with the word that the field has for it.
IDENTIFIERS = {
    "tense": "unstable", "noisy": "tactical", "stuck": "no_moves_result", "GOES_ON": "ONGOING",
    "nega": "alpha_beta", "assistants": "helper_threads", "score_here": "value_from_tt",
    "GUESSES": "STATIC_EVAL", "TECHNIQUE": "FEATURE", "TECHNIQUES": "FEATURES",
    "Grown": "EventsAppended", "Whisper": "Ephemeral", "Lapse": "GapHandler", "Author": "Actor",
    "Ticket": "PendingSearch", "News": "WorkerMessage", "Audience": "Followers",
    "HASTE_S": "DUE_ROOMS_RETRY_S", "Judged": "PositionJudgement", "ReadGame": "ParsedGame",
    "GOING_ON": "UNFINISHED", "Endable": "Closable", "in_words": "answer_or_reason",
}  # fmt: skip
#: Removed phrases, each with the reason.
PHRASES = {
    "a tense state": "quiescence literature: an unstable position",
    "noisy moves": "Stockfish: tactical moves",
    "the rest of the house": "name the package",
    "the own pool": "whose: the node's own pool",
    "moves that count": "docs/reference/glossary.md: the final line",
}
#: Files that must name the removed identifiers and phrases.
ALLOWED = {"tests/test_vocabulary.py", "CHANGELOG.md"}


def texts(*patterns: str) -> dict[str, str]:
    """Returns the text of each file in git, except the files that may use the old words."""
    listed = subprocess.run(
        ["git", "ls-files", *patterns], cwd=ROOT, capture_output=True, text=True
    )
    names = [name for name in listed.stdout.split() if name not in ALLOWED]
    return {name: (ROOT / name).read_text("utf-8") for name in names}


def old_words(source: str) -> list[str]:
    """Returns the removed identifiers that a source uses."""
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    return [t.string for t in tokens if t.type == tokenize.NAME and t.string in IDENTIFIERS]


def test_no_removed_identifier_is_used() -> None:
    """No Python file uses a removed identifier."""
    assert {name: old for name, text in texts("*.py").items() if (old := old_words(text))} == {}


@pytest.mark.parametrize("phrase", PHRASES)
def test_no_removed_phrase_is_used(phrase: str) -> None:
    """No docstring, comment or page contains a removed phrase."""
    pattern = re.compile(re.escape(phrase).replace(r"\ ", r"\s+(?:#:?\s+)?"), re.IGNORECASE)
    assert [name for name, text in texts("*.py", "*.md").items() if pattern.search(text)] == []


def test_a_removed_word_is_found() -> None:
    """`old_words` reports a removed identifier."""
    assert old_words("class Grown: ...\n") == ["Grown"]
