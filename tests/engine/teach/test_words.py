"""The founding texts' words: the glossary leads to a lesson, and the lesson defines the word."""

import re
from pathlib import Path

import pytest

from engine.reference.lessons import WORDS_FILE, words_module
from engine.teach.lessons.catalogue import lesson_traces, load_lesson
from engine.teach.lessons.lesson import fill_texts
from engine.teach.lessons.words import WORDS
from server.web.client_files import client_folder

GLOSSARY = Path(__file__).parents[3] / "docs/reference/glossary.md"
#: A row of the glossary that leads to a lesson: the word, its meaning, the lesson and its file.
ROW = re.compile(r"^\| (.+?) \| (.+) \| \[([\w-]+)\]\((\.\./\.\./engine/\S+)\) \|$", re.MULTILINE)
ROWS = {word: rest for word, *rest in ROW.findall(GLOSSARY.read_text("utf-8"))}
#: The words of the glossary that lessons define: those that the founding texts ask for.
ASKED = (
    """
heuristic, static board evaluator, zero-sum, perfect information, pay-off function,
utility function, H0, H_L, look-ahead, search depth, horizon effect, exponential
branching, hill climbing, EVAL, CUTOFF, state machine, final state, maximizing and
minimizing node, template method, factory method, accumulator, map and lambda, status
visitor, strategy, Referee, layout, prune, successor, fail-hard, fail-soft, average
min-max, optimistic, paranoid, max-n
""".replace("\n", " ")
    .strip()
    .split(", ")
)
#: The words that a definition names in another form.
STEMS = {
    "map and lambda": "the lambda",
    "maximizing and minimizing node": "minimizing node",
    "horizon effect": "horizon effect",
}


def test_the_glossary_has_all_words() -> None:
    """The glossary has every word of the founding texts once, and the client knows the same."""
    assert sorted(ROWS) == sorted(ASKED) == sorted(WORDS)


@pytest.mark.parametrize("word", ASKED)
def test_a_word_is_defined_where_the_glossary_leads(word: str) -> None:
    """The glossary's link leads to a lesson whose text has the sentence, which names the word."""
    meaning, name, link = ROWS[word]
    lesson = load_lesson(name)
    texts = fill_texts(lesson, lesson_traces(name))
    assert meaning in " ".join((texts.page, *texts.look_for))
    assert STEMS.get(word, word).lower() in meaning.lower()
    file = (GLOSSARY.parent / link).read_text("utf-8")
    assert re.search(rf"^{name.replace('-', '_').upper()} = Lesson\($", file, re.MULTILINE)


def test_the_client_has_the_words_of_the_lessons() -> None:
    """The client's file is what `python -m engine.reference.lessons` writes."""
    assert (client_folder() / WORDS_FILE).read_text("utf-8") == words_module()
