"""The facts about a move in a stored search, from which the bot makes its sentences.

A search proves exact scores for a few moves and only bounds for the others. `Verdict.bound` keeps
the bound, so that a sentence can say "at most". Pure.
"""

from collections.abc import Sequence
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from engine.game import Game, GameError, GameFault, Position
from engine.search.job import Bound, RootMove
from engine.win_chance import is_forced, mean_text
from server.events import Occupant
from server.protocol.assessments import Candidate, Percent
from server.protocol.wording import (
    StoredThought,
    Wording,
    best_of,
    bounded_percent,
    careless_note,
    result_length,
    says,
    with_mean,
)
from server.rooms.thinking import search_seed

#: How a decided match ends for the side that searches; "draw" only where a solver has proved it.
Forced = Literal["", "win", "loss", "draw"]
#: Why a player chose a move. It looked best, or was the only one. A level picks among moves that
#: look nearly equal ("near"), or is careless. A persona sets traps ("swindle") or expects errors
#: ("average"). "other" is a choice without a known reason, such as that of an unknown kind of
#: player.
Reason = Literal[
    "best", "only", "near", "careless", "random", "swindle", "strategy", "average", "other"
]


class Verdict(Struct, frozen=True, kw_only=True):
    """A search's verdict on one move, for the side that moves.

    - `chance` is the chance to win in percent. With the `bound` "upper" the true chance is at most
      that, with "lower" at least. None if the bound says nothing.
    - `forced` is a forced end that the search has found, and `length` its greatest distance: "at
      once", "within 3 moves".
    - `says` is a result that a solver has proved: "wins in 3 moves", "draws". `length` is then the
      exact distance, or the lead: "by 12 discs". It is "" where the solver knows only who wins.
    - `line` has the moves that the search expected next, in notation and with their numbers.
    - `mean` is the value as text where it is a mean over the opponent's replies: "+312 on average".
      Such a verdict has no chance.
    """

    text: str
    chance: Percent | None
    bound: Bound = "exact"
    forced: Forced = ""
    length: str = ""
    line: str = ""
    mean: str = ""
    says: str = ""


class MoveFacts(Struct, frozen=True, kw_only=True):
    """What a stored search says about the move that was played.

    - `side` is the name of the side, and `player` that of the AI: "Level 3".
    - `move` is the notation of the move, and `played` the search's verdict on it. A verdict is
      None if the search has no score of the move, or only a bound that says nothing.
    - `best` is the best move, if another one was played.
    - `second` is the next candidate. `is_second_sure` is false if bounds leave open whether another
      move is better. `is_no_better` is true if its bound only says that it is no better than the
      best move.
    - `losing` counts the moves that lose by force among the `others`, the moves that were not
      played. `loser` is the one with the shortest proven distance.
    - `note` is the sentence about a move after a look of one move, `value` a strategy's value of
      the position.
    - `depth` is the depth of the search in plies, 0 without a search. `is_shortened` is true if the
      search was cut short because the game was not compiled yet.
    """

    side: str
    player: str
    move: str
    reason: Reason
    played: Verdict | None = None
    best: Verdict | None = None
    second: Verdict | None = None
    is_second_sure: bool = False
    is_no_better: bool = False
    losing: int = 0
    others: int = 0
    loser: Verdict | None = None
    note: str = ""
    value: str = ""
    depth: int = 0
    is_shortened: bool = False


def move_facts(
    position: Position, ply: int, occupant: Occupant, match: str, thought: StoredThought
) -> MoveFacts:
    """The facts of a stored thought about a move of a match.

    `position` is the position at `ply`, before the move; `occupant` is the AI that chose the move.
    """
    game = position.game
    thought = with_mean(thought, occupant.persona)
    has_means = occupant.persona == "average"
    reader = _Reader(position, ply, thought, has_means)
    level = None if thought.warming else occupant.level
    seed = search_seed(match, ply)
    note = careless_note(game, level, seed, position.digest(), thought, thought.move)
    facts = MoveFacts(
        side=side_name(position, position.turn), player=player_name(occupant),
        move=reader.notation(thought.move), reason=_reason(position, occupant, thought, note),
        note=note, value="" if has_means else thought.value, depth=thought.depth,
        is_shortened=thought.warming, others=len(position.moves()) - 1,
    )  # fmt: skip
    if thought.depth == 0 or facts.value or not thought.pv:
        return facts
    return reader.with_verdicts(facts)


def player_name(occupant: Occupant) -> str:
    """The name of an AI as the sentences write it: "Level 3", "The swindler", "The AI"."""
    if occupant.level is not None:
        return f"Level {occupant.level}"
    return f"The {occupant.persona}" if occupant.persona else "The AI"


def side_name(position: Position, seat: int) -> str:
    """The name of a seat's side, "The AI" if the rules fail to name it."""
    try:
        return position.game.board(position.options).seats[seat].name
    except (GameFault, IndexError):
        return "The AI"


def verdict(game: Game, text: str, move: RootMove, line: str = "") -> Verdict:
    """The verdict of a search on a move with this notation."""
    chance = bounded_percent(game, move.score, move.bound)
    forced: Forced = ""
    if (is_forced(move.score) and chance is not None) or move.proven:
        forced = "draw" if move.score == 0 else "win" if move.score > 0 else "loss"
    return Verdict(
        text=text, chance=chance, bound=move.bound, forced=forced, line=line,
        length=result_length(game, move) if forced else "",
        says=says(game, move) if move.proven else "",
    )  # fmt: skip


def loses_by_force(move: RootMove) -> bool:
    """Whether a search has proved that the move loses."""
    return is_forced(move.score) and move.score < 0 and move.bound != "lower"


def _reason(position: Position, occupant: Occupant, thought: StoredThought, note: str) -> Reason:
    """Why the player chose its move."""
    if len(position.moves()) == 1:
        return "only"
    if thought.value and occupant.persona != "average":
        return "strategy"
    if thought.depth == 0 or not thought.pv:
        return "random"
    if note:
        return "careless"
    if occupant.persona == "average":
        return "average"
    if thought.move == thought.pv[0]:
        return "best"
    if occupant.persona == "swindler":
        return "swindle"
    return "near" if occupant.level is not None else "other"


class _Reader:
    """Reads the verdicts of a stored thought about the moves of its position.

    With `has_means` the scores of the moves are means, which prove no forced end.
    """

    def __init__(
        self, position: Position, ply: int, thought: StoredThought, has_means: bool
    ) -> None:
        self._position = position
        self._thought = thought
        self._has_means = has_means
        #: The search's score of each move, by token. The best move has the thought's score.
        self._moves = {move.move: move for move in thought.moves}
        if thought.pv:
            self._moves[thought.pv[0]] = best_of(thought)
        assessment = Wording(position, ply).assessment(thought)
        shown = () if assessment is None else (*assessment.candidates, *assessment.others)
        self._shown = {candidate.move: candidate for candidate in shown}
        self._candidates: tuple[Candidate, ...] = shown

    def with_verdicts(self, facts: MoveFacts) -> MoveFacts:
        """The facts with the verdicts on the moves."""
        thought = self._thought
        best, token = thought.pv[0], thought.move
        others = [move for move in self._moves.values() if move.move != token]
        losing = [move for move in others if loses_by_force(move) and not self._has_means]
        loser = min(losing, key=lambda move: move.score, default=None)
        second = self._second(token, best)
        second_verdict = None if second is None else self._verdict(second.move)
        return replace(
            facts,
            played=self._verdict(token), best=None if token == best else self._verdict(best),
            second=second_verdict,
            is_second_sure=second is not None and self._is_sure(second, (token, best)),
            is_no_better=second is not None and self._is_no_better(second),
            losing=len(losing), loser=None if loser is None else self._verdict(loser.move),
        )  # fmt: skip

    def notation(self, token: str) -> str:
        """The notation of a move of the position; its token if the rules fail."""
        if token in self._shown:
            return self._shown[token].text
        try:
            return self._position.notation(self._position.parse_move(token))
        except (GameError, GameFault):
            return token

    def _verdict(self, token: str) -> Verdict | None:
        move = self._moves.get(token)
        if move is None:
            return None
        if self._has_means:
            return Verdict(text=self.notation(token), chance=None, mean=mean_text(move.score))
        shown = self._shown.get(token)
        line = "" if shown is None else shown.line
        found = verdict(self._position.game, self.notation(token), move, line)
        return None if found.chance is None else found

    def _second(self, token: str, best: str) -> RootMove | None:
        """The next candidate besides the move that was played and the best one."""
        rest = [each for each in self._candidates if each.move not in (token, best)]
        return self._moves[rest[0].move] if rest else None

    def _is_sure(self, second: RootMove, before: Sequence[str]) -> bool:
        """Whether every other move is proved to be worse than this one."""
        rivals = [move for move in self._moves.values() if move.move not in (*before, second.move)]
        if second.bound != "exact" or len(self._moves) < len(self._position.moves()):
            return False
        return all(move.bound != "lower" and move.score < second.score for move in rivals)

    def _is_no_better(self, second: RootMove) -> bool:
        return second.bound == "upper" and second.score >= self._thought.score
