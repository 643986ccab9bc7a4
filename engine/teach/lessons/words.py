"""The words of the founding texts, each with the lesson that defines it.

A word is defined by a sentence of the lesson's texts. The table has the beginning of that sentence,
so that the lesson is the only place that has all of it.
"""

import re

from engine.teach.lessons.catalogue import lesson_traces, load_lesson
from engine.teach.lessons.lesson import fill_texts

#: The words in alphabetical order: the lesson, and the beginning of the sentence.
WORDS: dict[str, tuple[str, str]] = {
    "accumulator": ("map", "The accumulator holds"),
    "average min-max": ("average", "Average min-max takes"),
    "CUTOFF": ("utility-eval-cutoff", "CUTOFF(q, d)"),
    "EVAL": ("utility-eval-cutoff", "EVAL(q, p)"),
    "exponential branching": ("h0-and-hl", "Exponential branching:"),
    "factory method": ("template-method", "The factory method of MaxNode"),
    "fail-hard": ("fail-hard", "Fail-hard: a node"),
    "fail-soft": ("fail-hard", "Fail-soft: a node"),
    "final state": ("utility-eval-cutoff", "A final state is"),
    "H0": ("h0-and-hl", "H0 is"),
    "H_L": ("h0-and-hl", "H_L is"),
    "heuristic": ("h0-and-hl", "A heuristic is"),
    "hill climbing": ("h0-and-hl", "Hill climbing plays"),
    "horizon effect": ("horizon", "The horizon effect:"),
    "layout": ("pay-off", "A layout is"),
    "look-ahead": ("h0-and-hl", "A look-ahead tries"),
    "map and lambda": ("map", "It hands a function, the lambda,"),
    "max-n": ("max-n", "Max-n assumes"),
    "maximizing and minimizing node": ("what-is-minimax", "A maximizing node takes"),
    "optimistic": ("scholars-mate", "The optimistic search takes"),
    "paranoid": ("max-n", "The cautious rule, called paranoid,"),
    "pay-off function": ("pay-off", "The pay-off function gives"),
    "perfect information": ("what-is-minimax", "A game has perfect information"),
    "prune": ("four-level-argument", "To prune is"),
    "Referee": ("opaque-moves", "The Referee asks"),
    "search depth": ("h0-and-hl", "The search depth is"),
    "state machine": ("utility-eval-cutoff", "A state machine has"),
    "static board evaluator": ("h0-and-hl", "A static board evaluator is"),
    "status visitor": ("map", "The lambda lets a status visitor"),
    "strategy": ("opaque-moves", "A strategy chooses"),
    "successor": ("what-is-minimax", "A successor of a position is"),
    "template method": ("template-method", "One method walks the moves"),
    "utility function": ("utility-eval-cutoff", "The utility function U(q, p)"),
    "zero-sum": ("what-is-minimax", "A game is zero-sum"),
}
#: The end of a sentence: a full stop, and then a new sentence or the end of the text.
END = re.compile(r"\.(?= [A-Z0-9]|$)")


def definition_of(word: str) -> str:
    """Returns the sentence that defines a word, from the texts of its lesson.

    Raises KeyError for another word, and LookupError if no text of the lesson has the sentence.
    """
    name, start = WORDS[word]
    texts = fill_texts(load_lesson(name), lesson_traces(name))
    for text in (texts.page, *texts.look_for):
        at = text.find(start)
        if at >= 0 and (end := END.search(text, at)):
            return text[at : end.end()]
    raise LookupError(f"the lesson {name} has no sentence that begins with {start!r}")
