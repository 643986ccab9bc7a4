"""The terminal's texts for sides, players, moves, results, scores and the AI's searches.

This module does no I/O. The browser's texts are in client/web/shell/words.js.
"""

import re
from collections.abc import Sequence

from client.address import Address
from client.model import Model, control_of
from engine.ends import NO_RESULT_ENDS, has_result
from engine.view import BoardView, PositionView
from server.bidi import isolated
from server.events import Occupant
from server.protocol.assessments import Assessment
from server.protocol.messages import MatchResult, Played, Proposal, Thinking
from server.time_controls import show_control

#: The beginning of the path of a page in a text of the room's bot.
PAGE_PATH = re.compile(r"(?<!\S)/(match|glass|learn)(?=[/?])")
#: The control characters of C0 and C1, which a terminal obeys.
_CONTROLS = re.compile(r"[\x00-\x1f\x7f-\x9f]")
#: The score of a win in 0 plies; a win in n plies scores n less.
MATE = 30_000
#: A score closer to MATE than this is a forced win; the difference is its length in plies.
MAX_MATE_PLIES = 1000
#: The length of a progress bar, in characters.
BAR_WIDTH = 10
#: The text while a game is being compiled.
GETTING_READY = "getting ready, once per installation"
#: The sentence for each code of a reason why a room cannot be played.
FROZEN_TEXTS = {
    "room.newer": (
        "This room was made by a newer Plyroom; it can be read here and played elsewhere."
    ),
    "room.full": (
        "This room is full: it takes no more events, but it can be read. "
        "Open a new room to play on."
    ),
    "game.hung": (
        "This game is out of order: one of its rules did not return. "
        "The match can go on after a restart of the server."
    ),
}
#: Maximum number of moves of a principal variation that are printed.
MAX_PV_MOVES = 8
#: The words before a score that is a bound.
BOUND_WORDS = {"exact": "", "lower": "at least ", "upper": "at most "}


def side_name(board: BoardView | None, seat: int) -> str:
    """The name of a side: "Red"."""
    if board is not None and seat < len(board.seats):
        return board.seats[seat].name
    return ("First", "Second")[seat]


def player_text(board: BoardView | None, seat: int, occupant: Occupant | None) -> str:
    """The player of a side: "Red: Ada", "Yellow: nobody yet"."""
    return f"{side_name(board, seat)}: {occupant_name(occupant) if occupant else 'nobody yet'}"


def quoted(text: str) -> str:
    """A name or a line of a person within a line of the terminal, whose codes and order it cannot
    change: without control characters, and isolated if it is written from right to left.
    """
    return isolated(_CONTROLS.sub("", text))


def occupant_name(occupant: Occupant) -> str:
    """The name of the holder of a seat: "Ada", "AI level 4 for Bob"."""
    player, name = occupant.kept_for, quoted(occupant.name)
    return name if player is None else f"{name} for {quoted(player.name)}"


def move_text(played: Played) -> str:
    """A move in its notation, with "(forced)" after a pass that the server played."""
    text = played.text or played.move
    return f"{text} (forced)" if played.forced else text


def move_number(ply: int, played: Played) -> str:
    """The number of a move as its game counts, "3." or "3..."; else the ply, counted from 1."""
    return played.number or f"{ply + 1}."


def move_line(
    board: BoardView | None, ply: int, seat: int, played: Played, after: PositionView | None = None
) -> str:
    """A move with its number and its side: "3... Black: Nf6".

    The notation is taken from the view after the move, if there is one.
    """
    text = (
        after.played
        if after is not None and after.played and not played.forced
        else move_text(played)
    )
    return f"{move_number(ply, played)} {side_name(board, seat)}: {text}"


def position_text(board: BoardView | None, position: PositionView) -> str:
    """The position's own line of text; where it ends in the numbers of the pieces that the board
    counts, these stand beside their sides: "White to move; Black 26, White 21".
    """
    if board is None or not board.counted:
        return position.text
    sides = [board.kinds[kind].side for kind in position.pieces.values() if kind in board.kinds]
    counts = [sides.count(seat) for seat in range(len(board.seats))]
    for score in (" to ", " : "):
        end = f", {score.join(map(str, counts))}"
        if position.turn is not None and position.text.endswith(end):
            named = zip(board.seats, counts, strict=True)
            scores = ", ".join(f"{seat.name} {count}" for seat, count in named)
            return f"{position.text.removesuffix(end)}; {scores}"
    return position.text


def result_text(
    board: BoardView | None,
    over: MatchResult,
    my_seat: int | None = None,
    names: Sequence[str] = (),
) -> str:
    """The result of a match: "Red wins: four in a row."; for a player "You won: four in a row."

    With the players' names, by seat, for those who watch: "Ann (Red) wins: four in a row."

    In a game with points: "Black wins 40 to 24: the board is full."

    A reason that names the winner does not name them again: of "Red has joined both edges" stays
    "Red wins: joined both edges."

    A newer server may end a match in a way that this client does not know; its reason is shown.
    """
    reason = over.reason
    if over.winner is not None and my_seat in (None, over.winner):
        reason = reason.removeprefix(f"{side_name(board, over.winner)} has ")
    if over.winner is not None and my_seat is not None:
        if reason.startswith(f"{side_name(board, my_seat)} "):
            reason = f"you{reason.removeprefix(side_name(board, my_seat))}"
        verb = "won" if over.winner == my_seat else "lost"
        return f"You {verb}{points_text(over, my_seat)}: {reason}."
    if over.winner is not None:
        side = side_name(board, over.winner)
        # A player may have the name of a side: both sides are found before a name is put in.
        for seat in range(len(names)):
            reason = reason.replace(side_name(board, seat), chr(seat), 1)
        reason = reason.translate(dict(enumerate(names)))
        name = names[over.winner] if names else side
        verb = "win" if name == side and side.endswith("s") else "wins"
        return f"{name} {verb}{points_text(over, over.winner)}: {reason}."
    if has_result(over.winner, over.how):
        return f"Draw{points_text(over, my_seat or 0)}: {over.reason}."
    return f"{'No result' if over.how in NO_RESULT_ENDS else 'Match over'}: {over.reason}."


def result_of(model: Model, over: MatchResult) -> str:
    """The result of the room's match for the viewer; others than its players read names."""
    seat = result_seat(model)
    names = players_with_sides(model) if seat is None else ()
    return result_text(board_of(model), over, seat, names)


def players_with_sides(model: Model) -> tuple[str, ...]:
    """The players of the match, with their sides: "Ann (Red)". Empty on one screen, and where both
    have one name: the sides alone tell them apart.
    """
    if model.match is None or model.is_one_screen:
        return ()
    names = [occupant_name(player) for player in model.match.seats]
    if len(set(names)) < len(names):
        return ()
    board = board_of(model)
    return tuple(f"{name} ({side_name(board, seat)})" for seat, name in enumerate(names))


def result_seat(model: Model) -> int | None:
    """The seat whose player reads a result as their own; None for spectators, where one person
    plays both sides, and for who sat down after the match.
    """
    seat, match = model.my_seat, model.match
    if seat is None or match is None or model.is_one_screen:
        return None
    player = match.seats[seat]
    who = player.identity if player.kept_for is None else player.kept_for.identity
    return seat if who == model.me else None


def points_text(over: MatchResult, seat: int) -> str:
    """The points after a result, those of a seat first: " 40 to 24".

    "" in games without points, and in a draw with unequal points, which did not decide it.
    """
    if over.points is None or (over.winner is None and len(set(over.points)) > 1):
        return ""
    return f" {over.points[seat]} to {over.points[1 - seat]}"


def frozen_text(code: str) -> str:
    """Why a room cannot be played: a sentence for the code in `joined`."""
    return FROZEN_TEXTS.get(code, f"This room can be read but not played ({code}).")


def score_text(score: int, bound: str = "exact") -> str:
    """A score for the side that searched: "+12", "win in 5"."""
    plies = MATE - abs(score)
    if plies < MAX_MATE_PLIES:
        return f"{'win' if score > 0 else 'loss'} in {plies}"
    return f"{BOUND_WORDS.get(bound, '')}{score:+d}" if score else "0"


def count_text(count: int) -> str:
    """A count to three digits: "812", "48.2 k", "3.10 M"."""
    for scale, unit in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if count >= scale:
            number = count / scale
            return f"{number:.{0 if number >= 100 else 1 if number >= 10 else 2}f} {unit}"
    return str(count)


def search_text(depth: int, score: int, nodes: int, pv: Sequence[str], value: str = "") -> str:
    """A search result: "depth 9, +12, 48.2 k nodes, d c d".

    A strategy's `value` stands in place of the score, because it has other units.
    """
    line = " ".join(pv[:MAX_PV_MOVES]) + (" …" if len(pv) > MAX_PV_MOVES else "")
    result = f"value {value}" if value else score_text(score)
    return f"depth {depth}, {result}, {count_text(nodes)} nodes" + (f", {line}" if line else "")


def bar_text(percent: int) -> str:
    """A progress bar: "[####......] 42 %"."""
    full = percent * BAR_WIDTH // 100
    return f"[{'#' * full}{'.' * (BAR_WIDTH - full)}] {percent} %"


def thinking_text(name: str, thinking: Thinking) -> str:
    """The state of an AI's search: "AI level 5: depth 9, +12, 48.2 k nodes, d c d"."""
    match thinking.state:
        case "warming":
            return f"{name} is {GETTING_READY}: {bar_text(thinking.ready or 0)}"
        case "absent":
            return f"{name} waits for an engine: none is connected."
        case "queued" if thinking.ready is not None and not thinking.wait:
            return f"{name} is {GETTING_READY}: {bar_text(thinking.ready)}"
        case "queued":
            return f"{name} {thinking.wait or 'waits for its turn to think'}."
        case _ if thinking.withheld:
            return f"{name} thinks. {thinking.withheld}"
        case _ if thinking.depth == 0:
            return f"{name} thinks."
        case _:
            result = (
                assessment_text(thinking.assessment)
                if thinking.assessment is not None
                else search_text(
                    thinking.depth, thinking.score, thinking.nodes, thinking.pv, thinking.value
                )
            )
            return f"{name}: {result}" + (
                f" ({GETTING_READY}: {bar_text(thinking.ready)})"
                if thinking.ready is not None
                else ""
            )


def assessment_text(assessment: Assessment) -> str:
    """A search in words: what the side likes, its chance, and the note about its move, if any."""
    chance = f"({assessment.says})" if assessment.says else ""
    return " ".join(part for part in (assessment.sentence, chance, assessment.note) if part)


#: Who may see an AI's thinking, for each setting of a room.
THINKING_SETTING_TEXTS = {
    "all": "Everyone sees what the AI thinks.",
    "spectators": "Only spectators see what the AI thinks during a match.",
    "after": "What the AI thinks is shown after each match.",
}


def scores_text(thinking: Thinking) -> str:
    """The best moves with their chances, and how much the search cut off: "Nf6 62 %, d5 worse than
    58 %. 3,863 branches cut off, 91 % of them by the first move tried."

    A server of an earlier version sends the score of each move: "d +12, c +3, a at most -40".
    """
    if thinking.assessment is not None and thinking.assessment.candidates:
        moves = ", ".join(f"{move.text} {move.says}" for move in thinking.assessment.candidates)
        work = thinking.assessment.work
        return f"{moves}. {work}" if work else moves
    return ", ".join(
        f"{root_move.move} {score_text(root_move.score, root_move.bound)}"
        for root_move in thinking.moves
    )


def options_text(options: dict[str, str], text: str = "") -> str:
    """The options of a match in brackets, or an empty string; `text` is what the server says.

    A server of an earlier version says nothing.
    """
    text = text or ", ".join(f"{name} {value}" for name, value in options.items())
    return f" ({text})" if text else ""


def control_name(text: str) -> str:
    """A time control as people write it: "5+3"; one of a newer server as it is in the log."""
    control = control_of(text)
    return text if control is None else show_control(control)


def clock_suffix(text: str | None) -> str:
    """The time control after the name of a game: ", 5+3"; "" without one."""
    return "" if text is None else f", {control_name(text)}"


def waiting_text(model: Model) -> str:
    """The prompt while the viewer has no move to play: what the room waits for."""
    if not model.running:
        return "Waiting for a player (or help)"
    turn = model.view.turn if model.view is not None else None
    if turn is None or turn == model.my_seat:
        return "help or quit"
    verb = "moves again" if moves_again(model) else "is to move"
    return f"{player_name(model, turn)} {verb} (or help)"


def moves_again(model: Model) -> bool:
    """Whether the side to move has made the last move too, as some games allow."""
    match = model.match
    if match is None or model.view is None or not match.moves:
        return False
    ply = len(match.moves) - 1
    return model.view.turn == seat_of(match.moves[ply], ply)


def room_title(model: Model) -> str:
    """The game, its options and its clock: "Sticks (Rows of 1, 3, 5 and 7 sticks), 5+3"."""
    if model.description is None:
        return "Plyroom"
    described = model.description
    options = options_text(described.options, described.options_text)
    return f"{described.title}{options}{clock_suffix(model.clock)}"


def series_text(model: Model) -> str:
    """The score over the matches of the room, your own first: "Score: Ada 2 : 1 Bob."; "" before
    the second one. Others read it in the same order in each match, as in the browser.
    """
    score = model.score
    if score is None or sum(score) <= 2:  # a match has two half points
        return ""
    first = model.first_in_score
    names = [series_name(occupant) for occupant in model.seats if occupant is not None]
    points = f"{points_of(score[first])} : {points_of(score[1 - first])}"
    return f"Score: {names[first]} {points} {names[1 - first]}."


def series_name(occupant: Occupant) -> str:
    """The player of a seat in the score, in which all AIs are one."""
    if occupant.kept_for is not None:
        return quoted(occupant.kept_for.name)
    return "the computer" if occupant.kind == "ai" else quoted(occupant.name)


def points_of(halves: int) -> str:
    """Half points as points: "2", "\u00bd", "2\u00bd"."""
    return str(halves // 2) if halves % 2 == 0 else f"{halves // 2 or ''}\u00bd"


def proposal_text(offer: Proposal, control: str | None = None) -> str:
    """A proposal of the next game: "Kalah (six houses), 5+3, with the sides swapped".

    `control` is the time control of the room, which stays if the proposal names none.
    """
    sides = "on the same sides" if offer.seats == (0, 1) else "with the sides swapped"
    level = "" if offer.level is None else f", level {offer.level}"
    title = quoted(offer.title or offer.game or "")
    options = options_text(offer.options or {}, offer.options_text)
    clock = ", without a clock" if offer.clock == "-" else clock_suffix(offer.clock or control)
    return f"{title}{options}{clock}, {sides}{level}"


def next_match_text(model: Model) -> str:
    """The prompt after a match: what the viewer can do next."""
    if not model.permits("rematch"):
        return "quit, or wait for another match"
    if model.may is None or "next_game" not in model.may:
        return "rematch or quit"
    others = "easier, harder, next GAME" if _has_lost_to_level(model) else "next GAME"
    return f"{others}, rematch or quit"


def _has_lost_to_level(model: Model) -> bool:
    """Whether the viewer has lost the match to an AI at a level."""
    over, seat = model.match.over if model.match else None, model.my_seat
    if over is None or seat is None or model.is_one_screen or over.winner != 1 - seat:
        return False
    opponent = model.seats[1 - seat]
    return opponent is not None and opponent.level is not None


def seat_of(played: Played, ply: int) -> int:
    """The seat that made the move at a ply."""
    return ply % 2 if played.seat is None else played.seat


def seats_by_move(moves: Sequence[Played]) -> dict[str, int]:
    """The seat that made each move, where a game repeats none: who drew which line."""
    return {played.move: seat_of(played, ply) for ply, played in enumerate(moves)}


def board_of(model: Model) -> BoardView | None:
    """The part of the board view that stays the same, or None where the server sends no views."""
    return model.description.view if model.description is not None else None


def player_name(model: Model, seat: int) -> str:
    """The name of the player on a seat; the name of the side while nobody holds it."""
    occupant = model.seats[seat]
    return occupant_name(occupant) if occupant is not None else side_name(board_of(model), seat)


def absence_text(model: Model, seat: int) -> str:
    """Where a player is who is not in the room: "Ann has gone."."""
    is_near = seat in model.elsewhere
    where = "is on another page of this server" if is_near else "has gone"
    return f"{player_name(model, seat)} {where}."


def thinker(model: Model, thinking: Thinking) -> str:
    """The AI that thinks, with its side: "AI level 5 (Yellow)"."""
    side = side_name(board_of(model), thinking.seat)
    return f"{player_name(model, thinking.seat)} ({side})"


def possessive(name: str) -> str:
    """The possessive of a name: "White's"."""
    return f"{name}'" if name.endswith("s") else f"{name}'s"


def moves_back(model: Model, to_ply: int) -> str:
    """The moves that a takeback to a ply takes back: "a move" or "2 moves"."""
    count = model.ply - to_ply
    return "a move" if count == 1 else f"{count} moves"


def plural(noun: str) -> str:
    """The plural of the name of a piece: "men", "boxes", "discs"."""
    if noun.endswith("man"):
        return f"{noun.removesuffix('man')}men"
    return f"{noun}es" if noun.endswith(("x", "s", "ch")) else f"{noun}s"


def counted(count: int, one: str, many: str) -> str:
    """A number with its noun: "1 mistake", "2 mistakes"."""
    return f"{count} {one if count == 1 else many}"


def with_addresses(text: str, address: Address) -> str:
    """A text of the room's bot, with the address of the server before each path of a page."""
    return PAGE_PATH.sub(lambda path: f"{address}{path[0]}", text)
