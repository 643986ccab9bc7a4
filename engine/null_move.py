"""The null move: the same position with the other side to move.

It shows what the opponent threatens. It is no move of any game, so it needs a position that is
legal with the other side to move:

- A game with the hook `pass_turn` has null moves of its own. Where its `may_pass` is silent, the
  text of the new position must read back as the same state.
- In the position text of most other games one field names the side to move. The null move writes
  the other side's name there, and `parse_position` says whether the position is legal.
- A game with neither has no null move: its text does not name the side to move.
"""

import re
from collections.abc import Mapping
from functools import lru_cache

from engine.game import Game, GameError, GameFault, Position, PositionError
from engine.rules.call import RulesCall
from engine.search.levels import random_below

#: The fields of a position text, which spaces and colons separate.
FIELD = re.compile(r"[^\s:]+")
#: Number of positions that show which field names the side to move; a match that ends begins anew.
WALK_PLIES = 24
#: Least number of them for each side.
SEEN_POSITIONS = 3


class NoNullMove(Exception):
    """The position has no null move. The message says what would be wrong with the other side to
    move: "the position would not be legal (the side that is not to move is in check)".
    """


def has_null_moves(game: Game, options: Mapping[str, str]) -> bool:
    """Whether the game has null moves, with these options; one position may still have none.

    False also for a game whose rules fail on the way. The first call plays WALK_PLIES plies.
    """
    if game.rules.pass_turn is not None:
        return True
    try:
        return _side_field(game, tuple(sorted(options.items()))) is not None
    except (GameError, GameFault):
        return False


def null_move(position: Position) -> Position:
    """The position with the other side to move, in which the match goes on.

    It has no history. Raises NoNullMove if it would not be legal or the match would be over, if the
    other side could only pass, or if the game has no null moves. Raises GameFault.
    """
    if position.game.rules.pass_turn is not None:
        passed = _by_rule(position)
    else:
        passed = _by_text(position)
    if passed.turn == position.turn:
        raise NoNullMove("it would be the same side's turn")
    if not passed.moves():
        raise NoNullMove("the match would be over")
    if passed.forced_pass() is not None:
        raise NoNullMove("there would be no move but a pass")
    return passed


def _by_rule(position: Position) -> Position:
    """The position after `pass_turn`."""
    game, rules = position.game, position.game.rules
    assert rules.pass_turn is not None
    with RulesCall(game.id, "pass_turn") as call:
        passed = Position(game, position.options, rules.pass_turn(position.state))
        call.hook = "may_pass"
        if rules.may_pass is not None and rules.may_pass(position.state):
            return passed
    text = passed.text()
    read_back = _read(position, text)
    if read_back.state != passed.state:
        raise NoNullMove(f"the position would not be legal ({text} is another position)")
    return read_back


def _by_text(position: Position) -> Position:
    """The position whose text names the other side."""
    options = tuple(sorted(position.options.items()))
    field = _side_field(position.game, options)
    if field is None:
        raise NoNullMove("the position would have the same text")
    index, sides = field
    text, turn = position.text(), position.turn
    fields = list(FIELD.finditer(text))
    if len(fields) <= index or fields[index][0] != sides[turn]:
        raise NoNullMove("the position would have the same text")
    start, end = fields[index].span()
    return _read(position, text[:start] + sides[1 - turn] + text[end:])


def _read(position: Position, text: str) -> Position:
    """The position of a text. Raises NoNullMove with the reason of the rules."""
    try:
        return position.game.position(text, position.options)
    except PositionError as error:
        raise NoNullMove(f"the position would not be legal ({error.__cause__ or error})") from error


@lru_cache(maxsize=256)
def _side_field(
    game: Game, options: tuple[tuple[str, str], ...]
) -> tuple[int, tuple[str, str]] | None:
    """The index of the field that names the side to move, and its words for both sides.

    It is the only field that always has one word while the first side is to move, and always
    another one while the second is. None without such a field beside others.
    """
    seen: tuple[list[list[str]], list[list[str]]] = ([], [])
    start = position = game.start(dict(options))
    for ply in range(WALK_PLIES):
        seen[position.turn].append(FIELD.findall(position.text()))
        moves = position.moves()
        move = moves[random_below(f"null move:{ply}", len(moves))] if moves else None
        position = start if move is None else position.play(move)
    widths = {len(fields) for fields in (*seen[0], *seen[1])}
    if len(widths) != 1 or widths == {1} or min(map(len, seen)) < SEEN_POSITIONS:
        return None
    found = []
    for index in range(widths.pop()):
        first, second = ({fields[index] for fields in texts} for texts in seen)
        if len(first) == len(second) == 1 and first != second:
            found.append((index, (first.pop(), second.pop())))
    return found[0] if len(found) == 1 else None
