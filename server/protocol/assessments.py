"""A search in words for people, as protocol version 1 sends it.

`server.protocol.wording` makes the words. Clients import these types with the other messages.
"""

from typing import Annotated

from msgspec import Meta, Struct

from engine.search.job import Bound

#: A chance to win, in percent.
Percent = Annotated[int, Meta(ge=0, le=100)]


class Candidate(Struct, frozen=True, omit_defaults=True, kw_only=True):
    """One of the best moves that a search knows.

    - `move` is the move's token, and `text` its notation.
    - `chance` is the chance to win after it, in percent, for the side that searches; a draw counts
      as half a win. With `bound` "upper" the chance is lower than that, with "lower" it is higher.
      It is null where the bound says nothing.
    - `says` is the same in words: "62 %", "worse than 30 %", "wins within 3 moves"; and where a
      solver has proved the result, "wins in 3 moves", "wins by 12 discs", "draws", "loses".
    - `cells` are the cells of the board that show the move, in order: one for a piece that is
      placed, more for one that moves.
    - `line` are the moves, at most 2, that the search expected after it when it last was the best
      move, in notation and with their numbers: "4... Nf6 5. Bf4". It is empty for a move that was
      never the best one. In a game with extra turns, moves of the same side can be among them.
    """

    move: str
    text: str
    says: str
    chance: Percent | None = None
    bound: Bound = "exact"
    cells: tuple[str, ...] = ()
    line: str = ""


class DepthWords(Struct, frozen=True, kw_only=True):
    """The best move of a depth: its token, its notation, and the chance to win after it.

    The last depth of a search may be incomplete.
    """

    depth: int
    move: str
    text: str
    chance: Percent


class Assessment(Struct, frozen=True, omit_defaults=True, kw_only=True):
    """A search in words for people.

    - `sentence` says which move the side likes, which moves it expects next, and how it judges its
      position: "Black likes Nc6: it expects 5. b3 Bg4 and thinks that Black is clearly better."
    - `chance` is that side's chance to win in percent, from 1 to 99; 100 for a forced win, 0 for a
      forced loss, null for a move without a search. `says` is the same in words.
    - `candidates` are its best moves, the best first, at most 3. `others` are the next ones, at
      most 3.
    - `depths` are the best moves of the depths, as in `thinking`.
    - `work` says in one or two sentences how much the search cut off: "3,863 branches cut off, 91 %
      of them by the first move tried. Answered from memory 1,640 times." It is empty where nothing
      counts that.
    - `note` is a sentence about the move that was played, if a level did not find it best: "Level 1
      was careless here on purpose.", "Level 3 chose among moves that it found nearly as good." It
      names that move if it is not one of the candidates: "Nc6 was played."
    """

    sentence: str
    chance: Percent | None = None
    says: str = ""
    candidates: tuple[Candidate, ...] = ()
    note: str = ""
    others: tuple[Candidate, ...] = ()
    depths: tuple[DepthWords, ...] = ()
    work: str = ""


class ListedGame(Struct, frozen=True, omit_defaults=True):
    """A game of a file in its list, by its number: what is played, by whom, and how it ended; or
    the problem for which it was not read.
    """

    listed: int
    title: str = ""
    names: tuple[str, str] = ("", "")
    result: str = ""
    length: str = ""
    problem: str = ""
