"""What the panels and bars of a room say: moves, the AI's thinking, people, players, offers.

This module does no I/O and contains no rules: `may` decides what a bar offers.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from msgspec.structs import replace
from rich.style import Style
from rich.text import Text

from client.model import Model
from client.terminal import names, words
from client.terminal.board import SIGNS, STROKES, draw_board, piece_letters
from client.terminal.commands import CommandName, draw_or_rematch, is_permitted
from client.terminal.wrapping import visible_width
from client.tui.picture import piece_texts, sign_colours
from engine.view import BoardView, PositionView
from server.commands import OfferKind
from server.protocol.messages import Played

#: The characters of a sparkline, from low to high.
SPARKS, ASCII_SPARKS = "▁▂▃▄▅▆▇█", ".:-=+*#%"
#: The characters of a bar, full and empty.
FULL, ASCII_FULL = ("█", "░"), ("#", ".")
#: The width of the bar of a chance, in characters.
CHANCE_WIDTH = 20


@dataclass(frozen=True, slots=True)
class Offer:
    """A sentence with the commands that answer it, each as a line to execute and its label.

    `claim_ms` is the time from the last `presence` until the viewer may claim the match, of which
    the sentence does not tell; None where nothing is to be claimed later.
    """

    text: str
    answers: tuple[tuple[str, str], ...]
    claim_ms: int | None = None
    #: Whether it is the viewer's own, which they may withdraw.
    is_own: bool = False


def offers(model: Model) -> list[Offer]:
    """What waits for the viewer's answer, the most urgent first."""
    return [offer for offer in _offers(model) if offer.answers or offer.text]


def _offers(model: Model) -> Iterator[Offer]:
    seat = model.my_seat
    for offering in model.offers:
        what = draw_or_rematch(model)
        if offering != seat:
            name = words.player_name(model, offering)
            yield Offer(f"{name} offers a {what}.", _replies(model, what))
        else:
            yield Offer(f"You offer a {what}.", _withdrawal(model, what), is_own=True)
    for request in model.takebacks:
        moves = words.moves_back(model, request.to_ply or 0)
        if request.seat != seat:
            name = words.player_name(model, request.seat)
            yield Offer(f"{name} asks to take {moves} back.", _replies(model, "takeback"))
        else:
            withdrawal = _withdrawal(model, "takeback")
            yield Offer(f"You ask to take {moves} back.", withdrawal, is_own=True)
    if (proposal := model.next_offer) is not None:
        title = words.proposal_text(proposal, model.clock)
        if proposal.seat != seat:
            name = words.player_name(model, proposal.seat)
            yield Offer(f"{name} proposes {title}.", _replies(model, "next"))
        else:
            yield Offer(f"You propose {title}.", _withdrawal(model, "next"), is_own=True)
    if model.claim is not None:
        yield Offer(f"You may claim a draw: {model.claim}.", _answers(model, CommandName.CLAIM))
    yield from _absences(model)
    if model.kept_seat is not None and model.running:
        back = _answers(model, CommandName.RECLAIM)
        yield Offer("An AI keeps your seat.", back)
    if model.frozen is not None:
        yield Offer(words.frozen_text(model.frozen), ())
    elif not model.running and not model.offers and model.next_offer is None:
        yield from _between_matches(model)


def _absences(model: Model) -> Iterator[Offer]:
    """The player who has gone, and what the viewer may do about it."""
    for seat, left_ms in enumerate(model.gone_ms):
        if left_ms is None or seat == model.my_seat or not model.running:
            continue
        absent = words.absence_text(model, seat)
        if model.claims_of_absence:
            claims = (CommandName.CLAIM_WIN, CommandName.CALL_DRAW, CommandName.LET_AI_PLAY)
            yield Offer(absent, _answers(model, *claims))
        elif model.my_seat is not None:
            yield Offer(absent, _answers(model, CommandName.ABORT), left_ms)


def _between_matches(model: Model) -> Iterator[Offer]:
    if model.description is None:
        return  # the room has not arrived
    if model.match is not None and model.match.over is not None:
        result = words.result_of(model, model.match.over)
        commands = (CommandName.REMATCH, CommandName.EASIER, CommandName.HARDER)
        yield Offer(result, _answers(model, *commands))
    elif model.my_seat is None and None in model.seats:
        yield Offer("A seat is free.", _answers(model, CommandName.SIT))
    elif None in model.seats:
        yield Offer("Waiting for a player.", (("link", "show the link to send"),))


def _replies(model: Model, what: OfferKind) -> tuple[tuple[str, str], ...]:
    """The answers to an offer of the other side, which they name: there may be another one."""
    answers = _answers(model, CommandName.ACCEPT, CommandName.DECLINE)
    return tuple((f"{word} {what}", label) for word, label in answers)


def _withdrawal(model: Model, what: OfferKind) -> tuple[tuple[str, str], ...]:
    """The answer to the viewer's own offer, which it names."""
    answers = _answers(model, CommandName.DECLINE)
    return tuple((f"{word} {what}", "withdraw") for word, _ in answers)


def _answers(model: Model, *commands: CommandName) -> tuple[tuple[str, str], ...]:
    """The commands among these that the viewer may give, each as its word and as a label."""
    return tuple(
        (name.value, name.value.replace("-", " ")) for name in commands if is_permitted(name, model)
    )


# --- the players


def player_text(model: Model, seat: int, is_ascii: bool) -> str:
    """The player of a side in a line: whose turn it is, the side, the name, who it is."""
    occupant = model.seats[seat]
    turn = model.view.turn if model.view is not None and model.running else None
    sign = (">" if is_ascii else "▶") if turn == seat else " "
    board = words.board_of(model)
    side, colon, name = words.player_text(board, seat, occupant).partition(":")
    figure = figure_of_side(board, seat, is_ascii)
    text = f"{sign} {side}{figure and f' {figure}'}{colon}{name}"
    if occupant is not None:
        text += names.marks(model).get(occupant.identity, "") if occupant.kind != "ai" else ""
        if seat == model.my_seat and not model.is_one_screen and occupant.name != names.OWN_NAME:
            text += " (you)"
        is_away = len(model.present) > seat and not model.present[seat]
        if is_away and occupant.kind != "ai":
            text += " (away)"
    if count := _pieces_text(board, model.view, seat):
        text += f", {count}"
    return text


def with_side_colours(
    line: Text, board: BoardView | None, is_ascii: bool, colours: int, signs: tuple[str, str]
) -> Text:
    """A line whose signs of the sides have the colours of the pieces: each between two texts."""
    own = sign_colours(board, colours) if board is not None else []
    for seat, colour in enumerate(own):
        sign = figure_of_side(board, seat, is_ascii)
        around = f"{signs[0]}{sign}{signs[1]}"
        at = line.plain.find(around) if sign else -1
        if at >= 0:
            begin = at + len(signs[0])
            line.stylize(
                Style(color=colour or None, bold=True, dim=False), begin, begin + len(sign)
            )
    return line


def figure_of_side(board: BoardView | None, seat: int, is_ascii: bool) -> str:
    """The figure of a side's first kind of piece, "●"; "" in a game without such pieces, and for
    chessmen, whose figures tell it.
    """
    if board is None:
        return ""
    figures = piece_texts(board, is_ascii)
    own = [name for name, kind in board.kinds.items() if kind.side == seat and not kind.count]
    if not own or len(own) == len(board.kinds):
        return ""
    kind = board.kinds[own[0]]
    is_piece = kind.sprite is None and kind.shape not in STROKES
    return figures[own[0]] if is_piece else ""


def _pieces_text(board: BoardView | None, position: PositionView | None, seat: int) -> str:
    """How many pieces a side has, in games that count them."""
    if board is None or position is None or not board.counted or board.stores:
        return ""
    sides = [board.kinds[kind].side for kind in position.pieces.values() if kind in board.kinds]
    return words.counted(sides.count(seat), board.counted, words.plural(board.counted))


#: The characters of a time, three rows each.
LARGE = {
    "0": ("┏━┓", "┃ ┃", "┗━┛"), "1": (" ╻ ", " ┃ ", " ╹ "), "2": ("╺━┓", "┏━┛", "┗━╸"),
    "3": ("╺━┓", " ━┫", "╺━┛"), "4": ("╻ ╻", "┗━┫", "  ╹"), "5": ("┏━╸", "┗━┓", "╺━┛"),
    "6": ("┏━╸", "┣━┓", "┗━┛"), "7": ("╺━┓", "  ┃", "  ╹"), "8": ("┏━┓", "┣━┫", "┗━┛"),
    "9": ("┏━┓", "┗━┫", "╺━┛"), ":": (" ", ":", " "), ".": (" ", " ", "."),
}  # fmt: skip


def large_time(time: str) -> tuple[str, str, str]:
    """A time in large characters, three rows; what is no digit keeps its size."""
    shown = [LARGE.get(character, (" ", character, " ")) for character in time]
    top, middle, bottom = ("".join(each[row] for each in shown) for row in range(3))
    return top, middle, bottom


# --- the panels


def move_rows(moves: Sequence[Played], width: int) -> list[list[tuple[int, str]]]:
    """The moves as rows of plies and texts: two in a row where they fit, and the second one has the
    number of the first one or the game counts plies.
    """
    rows: list[list[tuple[int, str]]] = []
    half = max(8, (width - 1) // 2)
    for ply, played in enumerate(moves):
        number, text = words.move_number(ply, played), words.move_text(played)
        is_same = number.endswith("...")
        counts_plies = ply % 2 == 1 and number == f"{ply + 1}."
        if rows and len(rows[-1]) == 1 and (is_same or counts_plies):
            first_ply, first = rows[-1][0]
            padded = first + " " * max(1, half - visible_width(first))
            second = text if is_same else f"{number} {text}"
            if visible_width(padded) + visible_width(second) <= width:
                rows[-1] = [(first_ply, padded), (ply, second)]
                continue
        rows.append([(ply, f"{number} {text}")])
    return rows


def moves_lines(moves: Sequence[Played], width: int) -> list[str]:
    """The moves as lines of `move_rows`."""
    return ["".join(text for _, text in row) for row in move_rows(moves, width)]


def thinking_lines(model: Model, is_ascii: bool) -> list[str]:
    """The AI's thinking: its sentence, the bar of its chance, its best moves, and how its chance
    went from depth to depth.
    """
    thinking = model.thinking
    if thinking is None:
        if not model.permits("see_thinking"):
            return ["This room does not show you what the AI thinks during the match."]
        return ["No AI has thought yet."]
    if thinking.withheld:
        return [thinking.withheld]
    name = words.thinker(model, thinking)
    lines = [words.thinking_text(name, thinking)]
    assessment = thinking.assessment
    if assessment is not None:
        if assessment.chance is not None:
            lines += ["", f"{chance_bar(assessment.chance, is_ascii)} {assessment.says}"]
        candidates = (*assessment.candidates, *assessment.others)
        if candidates:
            lines += ["", "Best moves"]
            wide = max(visible_width(move.text) for move in candidates)
            lines += [
                f"  {move.text}{' ' * (wide - visible_width(move.text))}  {move.says}"
                + (f"  {move.line}" if move.line else "")
                for move in candidates
            ]
        if len(assessment.depths) > 1:
            chances = [each.chance for each in assessment.depths]
            first, last = assessment.depths[0].depth, assessment.depths[-1].depth
            lines += ["", f"Chance, depth {first} to {last}: {sparkline(chances, is_ascii)}"]
        if assessment.work:
            lines += ["", assessment.work]
    elif thinking.moves:
        lines += ["", words.scores_text(thinking)]
    if thinking.log:
        lines += ["", *thinking.log.rstrip("\n").split("\n")]
    return lines


def chance_bar(chance: int, is_ascii: bool, width: int = CHANCE_WIDTH) -> str:
    """A chance in percent as a bar."""
    full, empty = ASCII_FULL if is_ascii else FULL
    filled = round(chance * width / 100)
    return full * filled + empty * (width - filled)


def sparkline(chances: Sequence[int], is_ascii: bool) -> str:
    """Chances in percent as one character each."""
    sparks = ASCII_SPARKS if is_ascii else SPARKS
    return "".join(sparks[min(len(sparks) - 1, chance * len(sparks) // 100)] for chance in chances)


def people_lines(model: Model) -> list[str]:
    """Who plays, who watches, who is muted or barred, and the score."""
    board = words.board_of(model)
    lines = [
        words.player_text(board, seat, occupant)
        + (" (away)" if seat < len(model.present) and not model.present[seat] and occupant else "")
        for seat, occupant in enumerate(model.seats)
    ]
    if score := words.series_text(model):
        lines.append(score)
    lines.append(f"{model.watching} watching")
    lines += [f"Muted: {words.quoted(person.name)}" for person in model.muted]
    lines += [f"May not sit here: {words.quoted(person.name)}" for person in model.barred]
    has_ai = any(seat is not None and seat.kind == "ai" for seat in model.seats)
    if not has_ai:
        help_text = "may give" if model.has_help else "gives"
        nothing = "" if model.has_help else "no "
        lines.append(f"The bot {help_text} {nothing}help with the positions here.")
    if model.thinking_setting in words.THINKING_SETTING_TEXTS:
        lines.append(words.THINKING_SETTING_TEXTS[model.thinking_setting])
    return lines


# --- below the board


def notes(board: BoardView, view: PositionView, is_ascii: bool) -> list[str]:
    """The lines of line mode below a board, without its signs and the state of the match. Pieces
    have the figures of the picture.
    """

    def pressed(targets: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(each for each in targets if board.targets.get(each) == ())

    marks = {mark: pressed(cells) for mark, cells in view.marks.items()}
    plain = replace(view, marks=marks, last=pressed(view.last))
    figures, letters = piece_texts(board, is_ascii), piece_letters(board)
    lines = draw_board(board, plain, state="").notes[:-1]
    if figures != letters:
        lines = tuple(line for line in lines if not line.startswith(SIGNS))
    for name in board.kinds:
        lines = tuple(line.replace(f"({letters[name]})", f"({figures[name]})") for line in lines)
    return list(lines)
