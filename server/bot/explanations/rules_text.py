"""Answers from the text of a game's rules: a question finds the sentences that have its words.

Nothing is known of any game: the rules text that every game has is all that is searched. Pure.
"""

import re
from collections import Counter
from functools import lru_cache

#: The length from which on no further sentence is added to a passage, in characters.
LENGTH = 400
#: Words that say nothing about what a question is about.
_COMMON = (
    "a about all allowed also am an and any anyone are as at be because been before bot but by"
    " can could did do does doing done each else ever every explain for from game games get give"
    " go goes good had has have he hello help her here hey hi how i if in into is it its just know"
    " let like make makes many may me mean means more move moves much must my need no not now of"
    " off ok okay on one only or other our out play player players playing please plyroom position"
    " possible put right rule rules say says side sides so some something tell than thank thanks"
    " that the their them then there these they thing this to too turn turns two under up us use"
    " very was way we well were what when where which who whose why will with without work works"
    " would you your"
)
COMMON = frozenset(_COMMON.split())
#: Endings of words, the longest first: what is left has at least MIN_STEM letters.
ENDINGS = ("ions", "ing", "ion", "ies", "ed", "es", "e", "s", "y")
MIN_STEM = 3
_WORD = re.compile(r"[a-z']+")
_END = re.compile(r"(?<=[.!?])\s+")


def find_passage(rules: str, question: str) -> str | None:
    """The sentences of the rules that say most about the words of a question; None if no sentence
    has one of them.

    A word counts the more the fewer sentences have it. The passage ends with its paragraph.
    """
    sentences, counts = _index(rules)
    wanted = set(_stems(question))
    scores = [sum(1 / counts[stem] for stem in wanted & stems) for _, _, stems in sentences]
    best = max(scores, default=0)
    if best == 0:
        return None
    first = scores.index(best)
    paragraph, passage, _ = sentences[first]
    for following, sentence, _ in sentences[first + 1 :]:
        if following != paragraph or len(passage) + len(sentence) > LENGTH:
            break
        passage = f"{passage} {sentence}"
    return passage


def flow(rules: str) -> str:
    """The rules with one line for each paragraph: whoever shows them breaks the lines."""
    return "\n".join(_paragraphs(rules))


def _paragraphs(rules: str) -> list[str]:
    """The paragraphs of a rules text, each on one line; an empty line ends one."""
    blocks = re.split(r"\n\s*\n", rules.strip())
    return [" ".join(block.split()) for block in blocks]


@lru_cache(maxsize=64)
def _index(rules: str) -> tuple[list[tuple[int, str, frozenset[str]]], Counter[str]]:
    """The sentences with the numbers of their paragraphs and their stems; and in how many sentences
    each stem is.
    """
    sentences = [
        (number, sentence, frozenset(_stems(sentence)))
        for number, paragraph in enumerate(_paragraphs(rules))
        for sentence in _END.split(paragraph)
    ]
    return sentences, Counter(stem for _, _, stems in sentences for stem in stems)


def _stems(text: str) -> list[str]:
    words = _WORD.findall(text.lower().replace("\u2019", "'"))
    return [stem(word) for word in words if len(word) >= MIN_STEM and word not in COMMON]


def stem(word: str) -> str:
    """The word without its ending, so that "castle" and "castling" are alike."""
    for ending in ENDINGS:
        left = word.removesuffix(ending)
        if left != word and len(left) >= MIN_STEM and not (ending == "s" and left[-1] == "s"):
            is_doubled = ending in ("ing", "ed") and left[-1] == left[-2] and left[-1] not in "ls"
            return left[:-1] if is_doubled else left
    return word
