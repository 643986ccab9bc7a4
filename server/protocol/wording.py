"""Words for an AI's searches: sentences and chances to win in place of scores.

`Wording` makes an `Assessment` of a report of a search. All clients show these words, so live
rooms, replays and the terminal say the same. Pure: the same report gives the same words.
"""

import math
from collections.abc import Sequence
from typing import Protocol

from msgspec import Struct
from msgspec.structs import replace

from engine.game import Game, GameError, GameFault, Position
from engine.rules.call import RulesCall
from engine.rules.numbering import move_number
from engine.search.job import MATE, NO_COUNTS, Bound, Counts, DepthBest, RootMove
from engine.search.levels import level_of
from engine.win_chance import is_forced, mean_text, win_chance
from server.protocol.assessments import Assessment, Candidate, DepthWords

#: Maximum number of moves that an assessment lists.
MAX_CANDIDATES = 3
#: Maximum number of further moves that an assessment lists. The notation of a move of chess takes
#: a server 40 us, once a search.
MAX_OTHERS = 3
#: Maximum number of expected moves in a sentence and in a line. They take most of the time of an
#: assessment, and the line of the best move is that of the sentence.
MAX_EXPECTED = 2
#: How much worse a careless move is than the best one by its chance to win, in percentage
#: points.
CARELESS_PERCENT = 3
#: Judgements of a position by the least chance to win, in percent; those below 50 mirror them.
JUDGEMENTS = ((90, "winning", "losing"), (75, "clearly better", "clearly worse"),
              (55, "a little better", "a little worse"))  # fmt: skip


class SearchReport(Protocol):
    """The fields of a report that the words need: `Info`, `Thinking` and `StoredThought` have them.

    `score` is that of the first move of `pv`, for the side to move. `value` is in its place where
    the units of the search are not the game's, or where it is a mean over the opponent's replies:
    it is text, and there is no chance to win. Only a report of means has `moves` beside a `value`,
    and their scores are means too.
    """

    @property
    def depth(self) -> int: ...
    @property
    def score(self) -> int: ...
    @property
    def pv(self) -> tuple[str, ...]: ...
    @property
    def moves(self) -> tuple[RootMove, ...]: ...
    @property
    def value(self) -> str: ...
    @property
    def counts(self) -> Counts: ...
    @property
    def depths(self) -> tuple[DepthBest, ...]: ...


class StoredThought(Struct, frozen=True):
    """The report that is stored with an AI's move, and the move."""

    depth: int = 0
    score: int = 0
    pv: tuple[str, ...] = ()
    moves: tuple[RootMove, ...] = ()
    warming: bool = False
    value: str = ""
    counts: Counts = NO_COUNTS
    depths: tuple[DepthBest, ...] = ()
    move: str = ""


def with_mean(thought: StoredThought, persona: str | None) -> StoredThought:
    """The stored report of a seat with this persona, whose value is text if it is a mean.

    Nodes of earlier versions stored the means of the persona `average` without a `value`, as if
    they were scores.
    """
    if persona != "average" or thought.value or not thought.pv:
        return thought
    return replace(thought, value=mean_text(thought.score))


class Wording:
    """Words for the reports of the searches of one position, which is at `ply` of its match.

    It keeps the notation of moves, because the reports of a search repeat them. Its methods do not
    raise: where the rules fail, a token stands for the notation.
    """

    __slots__ = (
        "_depths", "_game", "_labels", "_lines", "_ply", "_position", "_shown_moves", "_side",
    )  # fmt: skip

    def __init__(self, position: Position, ply: int) -> None:
        self._position = position
        self._game = position.game
        self._ply = ply
        self._side, self._labels = _side_and_labels(position)
        #: The notation and the cells of moves of the position, by token.
        self._shown_moves: dict[str, tuple[str, tuple[str, ...]]] = {}
        #: The texts of expected lines.
        self._lines: dict[tuple[str, ...], str] = {}
        #: The best moves of depths in words.
        self._depths: dict[DepthBest, DepthWords] = {}

    def assessment(
        self, report: SearchReport, note: str = "", played: str | None = None
    ) -> Assessment | None:
        """The report in words; None for a report without a move.

        The note also names the played move if it is not one of the candidates.
        """
        if not report.pv:
            return None
        if report.depth == 0:  # the move was not searched
            return Assessment(sentence=f"{self._side} {self._verb('play')} at random.", note=note)
        if report.value:
            return self._with_value(report, note)
        candidates = self._candidates(report)
        if played and all(each.move != played for each in candidates[:MAX_CANDIDATES]):
            note = f"{note} {self._show(played)[0]} was played.".strip()
        return Assessment(
            sentence=self._sentence(report),
            chance=percent(win_chance(self._game, report.score), report.score),
            says=says(self._game, best_of(report), suffix=" to win"),
            candidates=candidates[:MAX_CANDIDATES],
            note=note,
            others=candidates[MAX_CANDIDATES:],
            depths=tuple([self._depth(best) for best in report.depths if best.line]),
            work=work_text(report.counts),
        )

    def _with_value(self, report: SearchReport, note: str) -> Assessment:
        """The report of a search with units of its own, or of means."""
        best = report.pv[0]
        values = [(best, report.value)]
        values += [(each.move, mean_text(each.score)) for each in report.moves if each.move != best]
        candidates = []
        for move, value in values[: MAX_CANDIDATES + MAX_OTHERS]:
            text, cells = self._show(move)
            candidates.append(Candidate(move=move, text=text, says=value, cells=cells))
        return Assessment(
            sentence=self._sentence(report),
            candidates=tuple(candidates[:MAX_CANDIDATES]),
            note=note,
            others=tuple(candidates[MAX_CANDIDATES:]),
        )

    def _sentence(self, report: SearchReport) -> str:
        best, _ = self._show(report.pv[0])
        line = self._line(report.pv[: 1 + MAX_EXPECTED])
        it, expects = ("they", "expect") if self._is_plural else ("it", "expects")
        expectation = f": {it} {expects} {line} and" if line else " and"
        return f"{self._side} {self._verb('like')} {best}{expectation} {self._judgement(report)}."

    def _judgement(self, report: SearchReport) -> str:
        if report.value:
            return f"{self._verb('value')} the position at {report.value}"
        best = best_of(report)
        if best.proven:
            return f"{'have' if self._is_plural else 'has'} proved {result_noun(self._game, best)}"
        if is_forced(report.score):
            return f"{self._verb('see')} {result_noun(self._game, best)}"
        return f"{self._verb('think')} {self._judge(report.score)}"

    def _judge(self, score: int) -> str:
        chance = percent(win_chance(self._game, score), score)
        # Not "it": that would read as the move.
        subject = f"that {self._side} {'are' if self._is_plural else 'is'}"
        for least, better, worse in JUDGEMENTS:
            if chance >= least:
                return f"{subject} {better}"
            if chance <= 100 - least:
                return f"{subject} {worse}"
        return "the chances are even"

    def _candidates(self, report: SearchReport) -> tuple[Candidate, ...]:
        best = best_of(report)
        others = sorted(
            (move for move in report.moves if move.move != best.move),
            key=lambda move: (move.bound == "upper" and not move.proven, -move.score),
        )
        lines = {led.line[0]: led.line for led in report.depths if led.line}
        lines |= {move.move: move.line for move in report.moves if move.line}
        lines[best.move] = report.pv
        shown = (best, *others[: MAX_CANDIDATES + MAX_OTHERS - 1])
        return tuple([self._candidate(move, lines.get(move.move, ())) for move in shown])

    def _candidate(self, move: RootMove, line: tuple[str, ...]) -> Candidate:
        text, cells = self._show(move.move)
        return Candidate(
            move=move.move, text=text, says=says(self._game, move),
            chance=bounded_percent(self._game, move.score, move.bound), bound=move.bound,
            cells=cells, line=self._line(line[: 1 + MAX_EXPECTED]) if line else "",
        )  # fmt: skip

    def _depth(self, best: DepthBest) -> DepthWords:
        words = self._depths.get(best)
        if words is None:
            chance = percent(win_chance(self._game, best.score), best.score)
            text, _ = self._show(best.line[0])
            words = DepthWords(depth=best.depth, move=best.line[0], text=text, chance=chance)
            self._depths[best] = words
        return words

    def _show(self, token: str) -> tuple[str, tuple[str, ...]]:
        """The notation of a move of the position, and the cells that show it."""
        shown = self._shown_moves.get(token)
        if shown is None:
            try:
                move = self._position.parse_move(token)
                shown = self._position.notation(move), self._cells(move)
            except (GameError, GameFault):
                shown = token, ()
            self._shown_moves[token] = shown
        return shown

    def _cells(self, move: int) -> tuple[str, ...]:
        """The cells that show a move on the board, in order; none for a move beside the board.

        Raises GameFault when the rules fail.
        """
        with RulesCall(self._game.id, "move_view"):
            view = self._game.rules.move_view(self._position.state, move)
        if len(view.path) == 1 and view.ghost is not None:
            return (view.ghost[0],)
        return tuple(cell for cell in view.path if cell not in self._labels)

    def _line(self, tokens: tuple[str, ...]) -> str:
        """The moves after the first, with their numbers: "5. b3 Bg4"."""
        text = self._lines.get(tokens)
        if text is None:
            text = self._lines[tokens] = line_text(self._position, self._ply, tokens)
        return text

    @property
    def _is_plural(self) -> bool:
        return self._side.endswith("s")

    def _verb(self, verb: str) -> str:
        return verb if self._is_plural else f"{verb}s"


def percent(chance: float, score: int) -> int:
    """A chance in percent, from 1 to 99 unless the score is forced."""
    return round(100 * chance) if is_forced(score) else min(99, max(1, round(100 * chance)))


def bounded_percent(game: Game, score: int, bound: Bound) -> int | None:
    """The chance of a score in percent, rounded towards what a bound leaves open.

    None where the bound says nothing: at most a win, or at least a loss.
    """
    chance = win_chance(game, score)
    if bound == "exact":
        return percent(chance, score)
    if is_forced(score):
        says_nothing = (score > 0) == (bound == "upper")
        return None if says_nothing else percent(chance, score)
    rounded = math.ceil(100 * chance) if bound == "upper" else math.floor(100 * chance)
    return min(99, max(1, rounded))


def best_of(report: SearchReport) -> RootMove:
    """The best move of a report, which has a move, with its score.

    While a depth is unfinished, `moves` may have an older score of it. A solver's result is final.
    """
    best = report.pv[0]
    known = next((move for move in report.moves if move.move == best and move.proven), None)
    return RootMove(best, report.score) if known is None else known


def says(game: Game, move: RootMove, suffix: str = "") -> str:
    """A score in words: "62 %", "wins within 3 moves", and for bounds "worse than 30 %".

    What a solver has proved is "wins in 3 moves", "wins by 12 discs", "draws" or "loses".
    """
    chance = bounded_percent(game, move.score, move.bound)
    if chance is None:
        return "no faster win" if move.bound == "upper" else "not known"
    if move.proven or is_forced(move.score):
        verb = "draws" if move.score == 0 else "wins" if move.score > 0 else "loses"
        has_length = move.bound == "exact"
        return f"{verb} {result_length(game, move)}".rstrip() if has_length else verb
    comparison = {"exact": "", "upper": "worse than ", "lower": "better than "}[move.bound]
    return f"{comparison}{chance} %{suffix}"


def result_noun(game: Game, move: RootMove) -> str:
    """A result as a noun: "a win in 3 moves", "a loss by 2 discs", "a draw"."""
    noun = "draw" if move.score == 0 else "win" if move.score > 0 else "loss"
    return f"a {noun} {result_length(game, move)}".rstrip()


def result_length(game: Game, move: RootMove) -> str:
    """How a result comes about: "at once", "in 3 moves", "by 12 discs"; "" where that is not known.

    A forced end that only the search has found may be nearer: "within 3 moves".
    """
    if move.score == 0:
        return ""
    if move.lead is not None:
        return f"by {_counted(abs(move.lead), game.rules.POINTS_UNIT)}"
    if move.proven and move.bound != "exact":
        return ""
    plies = MATE - abs(move.score)
    if plies <= 1:
        return "at once"
    moves = plies if game.rules.NUMBERING == "ply" else (plies + 1) // 2
    return f"{'in' if move.proven else 'within'} {_counted(moves, 'moves')}"


def _counted(count: int, plural: str) -> str:
    """A count with its unit: "1 move", "12 discs"."""
    return f"{count} {plural.removesuffix('s') if count == 1 else plural}"


def work_text(counts: Counts) -> str:
    """How much a search cut off, in sentences; "" if nothing was counted."""
    sentences = []
    if counts.cuts:
        share = round(100 * counts.first_cuts / counts.cuts)
        branches = f"{counts.cuts:,} {'branches' if counts.cuts > 1 else 'branch'} cut off"
        sentences.append(f"{branches}, {share} % of them by the first move tried.")
    if counts.table_cuts:
        times = f"{counts.table_cuts:,} times" if counts.table_cuts > 1 else "once"
        sentences.append(f"Answered from memory {times}.")
    return " ".join(sentences)


def careless_note(
    game: Game, level: int | None, seed: int, digest: str, report: SearchReport, move: str
) -> str:
    """A sentence for a move that the level chose by looking one move ahead only; "" for any other,
    and for the best move that it found.

    The move was careless if it is worse than the best one by the level's own search, and the
    reader sees it: by CARELESS_PERCENT. `digest` is that of the position before the move, `report`
    the search for it.
    """
    if level is None or not 1 <= level <= game.levels or report.depth != 1:
        return ""
    plays = level_of(game, level)
    if plays.at(seed, digest) is plays or not report.pv or move in ("", report.pv[0]):
        return ""
    best_score = best_of(report).score
    best = percent(win_chance(game, best_score), best_score)
    is_worse = any(
        each.move == move
        and each.bound != "lower"
        and percent(win_chance(game, each.score), each.score) <= best - CARELESS_PERCENT
        for each in report.moves
    )
    if is_worse:
        return f"Level {level} was careless here on purpose."
    return f"Level {level} looked one move ahead here, on purpose."


def choice_note(
    game: Game, level: int | None, seed: int, digest: str, report: SearchReport, move: str
) -> str:
    """A sentence for a move that is not the best one that the level found: why it was chosen; ""
    for any other. The arguments are those of `careless_note`.
    """
    if note := careless_note(game, level, seed, digest, report, move):
        return note
    if level is None or not 1 <= level <= game.levels or not report.depth or not report.pv:
        return ""
    worst = best_of(report).score - level_of(game, level).margin
    is_near = any(
        each.move == move and each.bound == "exact" and each.score > worst for each in report.moves
    )
    if move == report.pv[0] or not is_near:
        return ""
    return f"Level {level} chose among moves that it found nearly as good."


def line_text(position: Position, ply: int, tokens: Sequence[str]) -> str:
    """The moves after the first, with their numbers, as far as the rules can play them."""
    words: list[str] = []
    try:
        position = position.play(position.parse_move(tokens[0]))
        for number, token in enumerate(tokens[1:], ply + 1):
            move = position.parse_move(token)
            text, seat = position.notation(move), position.turn
            if not words or seat == 0 or position.game.rules.NUMBERING == "ply":
                words.append(move_number(position.game, number, seat))
            words.append(text)
            position = position.play(move)
    except (GameError, GameFault):
        pass
    return " ".join(words)


def _side_and_labels(position: Position) -> tuple[str, frozenset[str]]:
    """The name of the side to move, and the labels beside the board, which are not cells."""
    try:
        board = position.game.board(position.options)
        return board.seats[position.turn].name, frozenset(board.targets)
    except (GameFault, IndexError):
        return "The AI", frozenset()
