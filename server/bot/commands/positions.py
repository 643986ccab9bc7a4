"""Commands about the position: /why, /eval, /best, /hint and /threat."""

import re
from collections.abc import Callable, Sequence

from msgspec.structs import replace

from engine.game import Position
from engine.null_move import NoNullMove, null_move
from engine.search.job import Result
from server.bot.api import Answer, Arrow, Ask, Search, command, with_help, with_null_moves
from server.bot.explanations import english
from server.bot.explanations.facts import move_facts, side_name
from server.bot.searches import Findings, hint_job, threat_job
from server.events import Occupant
from server.rooms.model import Match, Room, Viewer
from server.rooms.permissions import see_thinking
from server.rooms.refusals import Refusal
from server.rooms.thinking import ALL

#: The answer if this server has no position to search.
NO_POSITION = "This server cannot play the match, so the bot cannot help with it."
#: The answer if the game is over in the position.
GAME_OVER = "The game is over in this position: there is no move left."


def with_threats(room: Room, viewer: Viewer) -> Refusal | None:
    """Allows a command about threats: help with the position of a game that has null moves."""
    return with_help(room, viewer) or with_null_moves(room, viewer)


def is_thinking_public(room: Room) -> bool:
    """Whether there is something that an AI has thought in the room's match, and everyone in the
    room may see it.
    """
    match = room.match
    if match is None or (match.over is None and match.thinking != ALL):
        return False
    return any(_mover(match, ply).kind == "ai" for ply in range(len(match.moves)))


@command(
    "why",
    "says why the AI played its last move; /why 12 explains move 12",
    when=with_help,
    needs_thoughts=True,
    is_public=is_thinking_public,
)
def why(ask: Ask) -> Answer:
    """Explains a move of an AI from the search that was stored with it."""
    match = ask.match
    assert match is not None, "`when` requires a match"
    refusal = see_thinking(ask.room, ask.viewer)
    if refusal is not None:
        return Answer(refusal.message)
    plies = sorted(ask.thoughts)
    if not plies:
        return Answer("No AI has played a move in this match yet.")
    ply = plies[-1]
    if ask.words:
        chosen = _chosen_ply(match, plies, ask.words[0])
        if chosen is None:
            return Answer(f"An AI's search is stored for {_range(match, plies)}; try /why alone.")
        ply = chosen
    position = ask.position(ply)
    if position is None:
        return Answer(NO_POSITION)
    facts = move_facts(position, ply, _mover(match, ply), match.id, ask.thoughts[ply])
    text = english.explain_move(facts, f"{match.id}:{ply}")
    return Answer(text, is_public=is_thinking_public(ask.room))


@command("eval", "says how the position is judged, for you alone", when=with_help, cost=1)
def evaluate(ask: Ask) -> Answer | Search:
    """Says the chance to win of the side to move."""

    def answer(findings: Findings) -> Answer:
        return Answer(english.evaluation(findings.side, findings.best))

    return _search(ask, answer)


@command("best", "shows the best move, for you alone", when=with_help, cost=1)
def best(ask: Ask) -> Answer | Search:
    """Shows the best move with an arrow."""

    def answer(findings: Findings) -> Answer:
        text = english.best_move(findings.best, are_equal=findings.are_equal)
        shown = Answer(text, arrows=findings.arrows(count=1), candidates=findings.candidates[:1])
        return with_turn(findings, ask.viewer.seat, shown)

    return _search(ask, answer)


@command(
    "hint",
    "helps you alone: /hint names three moves, /hint piece or /hint move less",
    when=with_help,
    cost=1,
)
def hint(ask: Ask) -> Answer | Search:
    """Helps as much as the word after it says: which piece, which move, or the best moves."""
    what = ask.words[0] if ask.words and ask.words[0] in ("piece", "move") else "moves"
    seat = ask.viewer.seat
    return _search(ask, lambda findings: with_turn(findings, seat, hint_answer(findings, what)))


@command(
    "threat",
    "shows what the opponent would play now, for you alone",
    when=with_threats,
    cost=1,
    conditions=(with_help, with_null_moves),
)
def threat(ask: Ask) -> Answer | Search:
    """Shows the move that the opponent would play if it were their turn."""
    match, position = ask.match, _position(ask)
    if match is None or position is None:
        return Answer(NO_POSITION if ask.position() is None else GAME_OVER)
    seat = position.turn if ask.viewer.seat is None else ask.viewer.seat
    if seat != position.turn:
        return _search(ask, lambda findings: _threat_answer(findings, is_their_turn=True))
    try:
        passed = null_move(position)
    except NoNullMove as error:
        other, reason = side_name(position, 1 - position.turn), str(error)
        return _search(ask, lambda findings: _expected_reply(findings, other, reason))

    def then(result: Result) -> Answer:
        return _threat_answer(Findings(passed, match.ply + 1, result), is_their_turn=False)

    return Search(threat_job(ask.room, match), then)


def hint_answer(findings: Findings, what: str) -> Answer:
    """The hint of this level: "piece" names a piece, "move" the best move, "moves" the best three.

    In a game whose moves place pieces, and where the rules do not say which piece it is, "piece"
    names and marks three cells or moves, one of which is the best move, or all of which are equally
    good: in the order of their names and marked alike. A move without cells, such as a pass, is
    only named.
    """
    if what == "piece":
        piece = findings.piece()
        in_order = sorted(findings.candidates, key=lambda each: each.text)
        moves = [each.text for each in in_order]
        text = english.piece_hint(piece, moves, are_equal=findings.are_equal)
        if piece:
            marks = [Arrow(findings.candidates[0].cells[:1])]
        else:
            marks = [Arrow(each.cells) for each in in_order if each.cells]
        return Answer(text, arrows=tuple(marks))
    if what == "move":
        text = english.best_move(findings.best, are_equal=findings.are_equal)
        return Answer(text, arrows=findings.arrows(count=1), candidates=findings.candidates[:1])
    text = english.best_moves(findings.verdicts)
    return Answer(text, arrows=findings.arrows(), candidates=findings.candidates)


def _search(ask: Ask, answer: Callable[[Findings], Answer]) -> Answer | Search:
    """Requests a search of the current position; `answer` makes the answer from its result."""
    match, position = ask.match, _position(ask)
    if match is None or position is None:
        return Answer(NO_POSITION if ask.position() is None else GAME_OVER)

    def then(result: Result) -> Answer:
        return answer(Findings(position, match.ply, result))

    return Search(hint_job(ask.room, match), then)


def with_turn(findings: Findings, seat: int | None, answer: Answer) -> Answer:
    """The answer; a player whose turn it is not reads first for which side the moves are."""
    if seat in (None, findings.turn):
        return answer
    return replace(answer, text=f"{findings.side} to move. {answer.text}")


def _position(ask: Ask) -> Position | None:
    """The current position, if it can be searched."""
    position = ask.position()
    return position if position is not None and position.moves() else None


def _threat_answer(findings: Findings, *, is_their_turn: bool) -> Answer:
    text = english.threat(findings.side, findings.best, is_their_turn=is_their_turn)
    return Answer(
        text, arrows=findings.arrows("threat", count=1), candidates=findings.candidates[:1]
    )  # fmt: skip


def _expected_reply(findings: Findings, other: str, reason: str) -> Answer:
    """The answer without a null move: the reason, and the reply that the engine expects."""
    return Answer(english.expected_reply(other, reason, findings.best))


def _chosen_ply(match: Match, plies: Sequence[int], word: str) -> int | None:
    """The ply of the AI's move with a number such as "12" or "12..."; None if there is none.

    If two AIs have made moves with this number, it is the ply of the first one.
    """
    number = re.sub(r"\D", "", word)
    numbered = (ply for ply in plies if re.sub(r"\D", "", match.moves[ply].number or "") == number)
    return next(numbered, None)


def _range(match: Match, plies: Sequence[int]) -> str:
    """The numbers of the first and the last move of an AI, in words."""
    first, last = (
        re.sub(r"\D", "", match.moves[ply].number or "?") for ply in (plies[0], plies[-1])
    )
    return f"move {first}" if first == last else f"moves {first} to {last}"


def _mover(match: Match, ply: int) -> Occupant:
    """The occupant that made the move at a ply."""
    seat = match.mover(ply)
    occupant = match.seats[seat]
    for change in match.substitutions:
        if change.seat == seat and change.ply <= ply:
            occupant = change.occupant
    return occupant
