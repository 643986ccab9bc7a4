"""An analysis in words: an entry for each position, and the turning points. Pure."""

from collections.abc import Sequence
from typing import Any

from msgspec import Struct

from engine.game import GameError, GameFault, Position
from engine.rules.numbering import move_number
from engine.win_chance import is_forced
from server.analysis.accuracy import (
    Mark,
    PlayedMove,
    PositionJudgement,
    judge_move,
    judge_position,
    summarise,
)
from server.analysis.positions import PlyResult
from server.protocol.assessments import Candidate
from server.protocol.wording import (
    StoredThought,
    Wording,
    best_of,
    percent,
    result_length,
    says,
)

#: Maximum number of turning points of a match.
MAX_TURNING_POINTS = 5
#: Maximum number of moves in the text of a better line.
LINE_MOVES = 6
#: The least chance to win of a side that is clearly better, from 0 to 1.
CLEARLY_BETTER = 0.75
#: The least chance to win of a side that is a little better, from 0 to 1; as in JUDGEMENTS.
A_LITTLE_BETTER = 0.55
#: The least chance to win of a side that is not worse, from 0 to 1.
EVEN = 0.5


class PositionEntry(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The analysis of the position after `ply` plies, and of the move that was played there.

    - `chance` is the chance to win of the first seat, in percent; `says` is that of `seat`, the
      side to move, in words. `says` is empty where the match is over on the board.
    - `best` is the best move, `text` its notation, `cells` the cells that show it, and `pv` its
      line in tokens. `line` is that line in notation with numbers: "12. Nf3 Nc6 13. Bb5".
    - `candidates` are the best moves, at most 3, all with exact scores. `depth` is the depth of the
      search. `only` says that every move but the best one is a mistake.
    - `loss` is the part of the mover's chance to win that the played move lost, from 0 to 1. `mark`
      is its name: "inaccuracy" from 0.05, "mistake" from 0.10, "blunder" from 0.20 on. `says_mark`
      explains it: "Blunder: White's chance to win falls from 62 % to 18 %. 12. Nf3 was better."
      The last position has none of these fields.
    """

    ply: int
    chance: int
    seat: int
    says: str = ""
    best: str | None = None
    text: str = ""
    cells: tuple[str, ...] = ()
    pv: tuple[str, ...] = ()
    line: str = ""
    candidates: tuple[Candidate, ...] = ()
    depth: int = 0
    only: bool = False
    loss: float | None = None
    mark: Mark | None = None
    says_mark: str = ""


class TurningPoint(Struct, frozen=True):
    """A sentence about a move that decided the match; `ply` is that of the position before it."""

    ply: int
    seat: int
    sentence: str


class MarkCounts(Struct, frozen=True):
    """The number of a side's moves with each mark."""

    inaccuracy: int
    mistake: int
    blunder: int


class AnalysisSummary(Struct, frozen=True):
    """The accuracy of both sides in percent (None without moves), the number of their marks, and
    the turning points.
    """

    accuracy: tuple[float | None, float | None]
    counts: tuple[MarkCounts, MarkCounts]
    turning_points: tuple[TurningPoint, ...]


class Analysed(Struct, frozen=True):
    """A position of the match, the result of its search, and its judgement."""

    ply: int
    position: Position
    result: PlyResult
    judgement: PositionJudgement

    @classmethod
    def of(cls, ply: int, position: Position, result: PlyResult) -> "Analysed":
        """The analysed position after `ply` plies."""
        return cls(ply, position, result, judge_position(position, result))


def make_entry(before: Analysed, token: str | None, after: Analysed | None) -> PositionEntry:
    """The entry of a position; `token` is the played move, and `after` the position after it.

    Without one of them, the entry does not judge the move.
    """
    entry = _position_fields(before)
    if token is None or after is None:
        return PositionEntry(**entry)
    move = judge_move(before.judgement, token, after.judgement)
    return PositionEntry(
        **entry,
        loss=round(move.loss, 4),
        mark=move.mark,
        says_mark=_mark_sentence(before, token, move, after),
    )


def make_summary(analysed: Sequence[Analysed], moves: Sequence[str]) -> AnalysisSummary:
    """The summary of a match whose positions are all analysed."""
    played = [
        judge_move(before.judgement, token, after.judgement)
        for before, token, after in zip(analysed, moves, analysed[1:], strict=False)
    ]
    sides = [summarise(played, seat) for seat in (0, 1)]
    counts = [MarkCounts(side.inaccuracy, side.mistake, side.blunder) for side in sides]
    return AnalysisSummary(
        (sides[0].accuracy, sides[1].accuracy),
        (counts[0], counts[1]),
        _turning_points(analysed, moves, played),
    )


def _position_fields(analysed: Analysed) -> dict[str, Any]:
    """The fields of an entry that depend on the position alone."""
    judgement, result, position = analysed.judgement, analysed.result, analysed.position
    first_chance, score = judgement.chance_of(0), result.score
    fields: dict[str, Any] = {"ply": analysed.ply, "seat": judgement.seat}
    if not judgement.moves or not result.pv:
        return fields | {"chance": round(100 * first_chance)}
    wording = Wording(position, analysed.ply)
    thought = _thought(result)
    assessment = wording.assessment(thought)
    candidates = assessment.candidates if assessment is not None else ()
    return fields | {
        "chance": percent(first_chance, score),
        "says": says(position.game, best_of(thought), suffix=" to win"),
        "best": result.pv[0],
        "text": candidates[0].text if candidates else result.pv[0],
        "cells": candidates[0].cells if candidates else (),
        "pv": result.pv,
        "line": numbered_line(position, analysed.ply, result.pv[:LINE_MOVES]),
        "candidates": candidates,
        "depth": result.depth,
        "only": judgement.has_only_move,
    }


def _thought(result: PlyResult) -> StoredThought:
    """A result as the report of a search, for its words."""
    return StoredThought(result.depth, result.score, result.pv, result.moves)


def numbered_line(position: Position, ply: int, tokens: Sequence[str]) -> str:
    """A line in notation with the numbers of its moves, as far as the rules can play it."""
    words: list[str] = []
    try:
        for number, token in enumerate(tokens, ply):
            move = position.parse_move(token)
            seat = position.turn
            if not words or seat == 0 or position.game.rules.NUMBERING == "ply":
                words.append(move_number(position.game, number, seat))
            words.append(position.notation(move))
            position = position.play(move)
    except (GameError, GameFault):
        pass
    return " ".join(words)


def side_name(position: Position, seat: int) -> str:
    """The name of a side, such as "White"."""
    try:
        return position.game.board(position.options).seats[seat].name
    except (GameFault, IndexError):
        return f"side {seat + 1}"


def possessive(name: str) -> str:
    """The possessive of a name: "White's"."""
    return f"{name}'" if name.endswith("s") else f"{name}'s"


def _mark_sentence(before: Analysed, token: str, move: PlayedMove, after: Analysed) -> str:
    """What a marked move lost and what was better; "" for a move without a mark."""
    if move.mark is None:
        return ""
    best = numbered_line(before.position, before.ply, before.result.pv[:1])
    return f"{move.mark.capitalize()}: {_loss_text(before, move, after)}. {best} was better."


def _loss_text(before: Analysed, move: PlayedMove, after: Analysed) -> str:
    """What the move lost: a forced win, a match that was not lost, or a part of the chance.

    The position after the move must confirm a forced loss.
    """
    game, name = before.position.game, side_name(before.position, move.seat)
    other = side_name(before.position, 1 - move.seat)
    is_win = is_forced(before.result.score) and before.result.score > 0
    if is_win:
        length = result_length(game, best_of(_thought(before.result)))
        return f"{name} could have won {length}".rstrip()
    sign = 1 if after.judgement.seat == move.seat else -1
    score = sign * after.result.score
    if after.result.pv and is_forced(score) and score < 0 and move.played == 0.0:
        return (
            f"{other} can now win {result_length(game, best_of(_thought(after.result)))}".rstrip()
        )
    if after.judgement.is_proven and move.played == EVEN:
        return f"{name} now only draws"
    if not after.judgement.moves and after.judgement.chance_of(move.seat) == 0.0:
        return "it loses at once"
    start, end = _percents(move)
    return f"{possessive(name)} chance to win falls from {start} % to {end} %"


def _percents(move: PlayedMove) -> tuple[int, int]:
    """The chances in percent before and after a move that neither wins nor loses by force."""
    return percent(move.best, 0), percent(move.played, 0)


def _turning_points(
    analysed: Sequence[Analysed], moves: Sequence[str], played: Sequence[PlayedMove]
) -> tuple[TurningPoint, ...]:
    """The mistakes and blunders that lost the most, in the order of the match."""
    marked = [ply for ply, move in enumerate(played) if move.mark in ("mistake", "blunder")]
    worst = sorted(marked, key=lambda ply: (-played[ply].loss, ply))[:MAX_TURNING_POINTS]
    return tuple(
        TurningPoint(
            ply, played[ply].seat,
            _turning_sentence(analysed[ply], moves[ply], played[ply], analysed[ply + 1]),
        )
        for ply in sorted(worst)
    )  # fmt: skip


def _turning_sentence(before: Analysed, token: str, move: PlayedMove, after: Analysed) -> str:
    """What a move changed: "17. Qxb7 gave the lead away: …. 17. Nf3 was better." """
    played = numbered_line(before.position, before.ply, [token])
    best = numbered_line(before.position, before.ply, before.result.pv[:1])
    effect = effect_of(move, side_name(before.position, move.seat))
    return f"{played} {effect}: {_loss_text(before, move, after)}. {best} was better."


def effect_of(move: PlayedMove, name: str) -> str:
    """What a mistake or a blunder of the side `name` did: "gave the lead away".

    A side that was clearly better had the lead; one that was a little better had the advantage.
    """
    if move.best >= CLEARLY_BETTER and move.played >= 1 - CLEARLY_BETTER:
        return "gave the lead away" if move.played < EVEN else "let the win slip"
    if move.played < 1 - CLEARLY_BETTER:
        if move.best < 1 - CLEARLY_BETTER:
            return f"made it worse for {name}"
        return "turned the match" if move.best >= CLEARLY_BETTER else "was the losing move"
    if move.best >= EVEN > move.played:
        return "lost the advantage" if move.best >= A_LITTLE_BETTER else f"made it worse for {name}"
    return f"was a {move.mark}"
