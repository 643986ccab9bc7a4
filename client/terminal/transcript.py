"""Prints what happens in a room as lines: moves, boards, results, chat, searches and presence."""

import asyncio
from collections.abc import Callable
from typing import assert_never

import msgspec

from client.address import Address
from client.messages import LoggedEvent, RoomMessage
from client.model import Model
from client.terminal import names, words
from client.terminal.clocks import HELD_TEXTS, clocks_text
from client.terminal.commands import CommandName
from client.terminal.muted import MutedFile
from client.terminal.output import Output
from client.terminal.queries import draw_current_board
from client.tokens import state_folder
from server.events import (
    AiTookOver,
    Barred,
    Configured,
    Declined,
    Finished,
    Held,
    Moved,
    Muted,
    Offered,
    PlayerReturned,
    Released,
    Renamed,
    Said,
    SeatLeft,
    SeatTaken,
    Started,
    TimeAdded,
    TookBack,
    Unmuted,
)
from server.protocol.messages import (
    Answer,
    ChatLine,
    Joined,
    May,
    Played,
    Presence,
    Snapshot,
    Thinking,
    Turn,
    View,
)

#: Shortest time between two reports of a running search, in seconds.
THINKING_INTERVAL_S = 3.0

#: What a spectator can do.
SPECTATOR_ADVICE = (
    "You are watching. Type / and a text to say something (/hello), help for the commands, "
    "quit to leave."
)

#: The bot's words about itself, after the earlier chat.
BOT_INTRODUCTION = "<Plyroom> I am the room's bot. Type /help, or call me: @bot, how do I win?"
#: What follows a line of chat that not everyone reads, by its `to`.
READERS = {"spectators": " (to spectators)", "author": " (only you see this)"}
#: Maximum number of lines of earlier chat that are printed at the beginning.
MAX_EARLIER_CHAT_LINES = 5


class Transcript:
    """Prints the messages about one room, and the prompts.

    A move is printed when the view after it arrives, because that has its notation. `brief` leaves
    the boards out, `is_drawn` the moves and searches too, because a screen draws them. `server_ms`
    is the server's time, in ms since 1970, for the clocks.
    """

    def __init__(
        self,
        output: Output,
        address: Address,
        *,
        brief: bool,
        server_ms: Callable[[], int],
        is_drawn: bool = False,
    ) -> None:
        self._output = output
        self._server_ms = server_ms
        #: The room as it was last shown, whose clocks a prompt shows again.
        self._shown: Model | None = None
        self._address = address
        self._brief = brief
        self._is_drawn = is_drawn
        #: The v at which this player sat down: a match that ended earlier does not end line mode.
        self.seated_at_v = 0
        #: Moves that wait for their notation: ply, seat and move.
        self._unprinted_moves: list[tuple[int, int, Played]] = []
        self._is_result_unprinted = False
        self._is_score_unprinted = False
        #: Seats whose new players have not been reported as present.
        self._arriving: set[int] = set()
        self._search_reports = SearchReports()
        #: The people whose lines of chat are hidden.
        self._muted = MutedFile(state_folder() / "muted.json")

    def introduce(self, model: Model, link: str) -> None:
        """Prints the room with its link, its players and the last lines of its chat."""
        self._output.report(f"{words.room_title(model)}. Room {model.room}: {link}")
        players = [
            words.player_text(words.board_of(model), seat, occupant)
            for seat, occupant in enumerate(model.seats)
        ]
        self._output.report(f"{', '.join(players)}")
        if model.description is not None and model.description.goal:
            self._output.report(model.description.goal)
        if score := words.series_text(model):
            self._output.report(score)
        earlier = [line for line in model.chat if line.identity not in self._muted]
        for line in earlier[-MAX_EARLIER_CHAT_LINES:]:
            self._output.print(f"<{self._author(model, line)}> {words.quoted(line.text)}")
        if model.chat_commands and self._output.interactive:
            self._output.report(BOT_INTRODUCTION)

    def introduce_match(self, model: Model) -> None:
        """Tells a spectator how to take part, and prints the result of a match that is over
        already, unless the board with it follows.
        """
        if model.my_seat is None and not self.seated_at_v and self._output.interactive:
            self._output.report(SPECTATOR_ADVICE)
        if model.match is not None and model.match.over is not None:
            self._is_result_unprinted = True
            if self._brief or not _sends_views(model):
                self._print_result(model)
            if not _sends_views(model):
                self.prompt_after_match(model)
        elif model.match is None and self._output.interactive:
            self.prompt_for_move(model)

    def is_over(self, model: Model) -> bool:
        """Whether the match has ended and its last position is printed."""
        has_view = model.view is not None or not _sends_views(model)
        is_printed = not self._unprinted_moves and not self._is_result_unprinted
        return (
            model.match is not None
            and model.match.over is not None
            and has_view
            and is_printed
            and model.v >= self.seated_at_v
        )

    def show(self, before: Model, model: Model, message: RoomMessage) -> None:
        """Prints a message that turned the model `before` into `model`."""
        self._shown = model
        if not _precedes_view(message):
            self._print_moves(model, message if isinstance(message, View) else None)
        match message:
            case Joined():
                if message.frozen is not None and before.frozen is None:
                    self._output.report(words.frozen_text(message.frozen))
                if _has_other_game(before, model) and message.v == model.v:
                    sides = [
                        words.player_text(words.board_of(model), seat, occupant)
                        for seat, occupant in enumerate(model.seats)
                    ]
                    self._output.report(f"{words.room_title(model)}. {', '.join(sides)}")
            case Snapshot():
                self._output.report("The room is up to date again.")
            case LoggedEvent():
                self._show_event(before, model, message)
            case View():
                self._show_view(before, model, message)
            case Turn():
                if not _is_repeat(before.turn, message):
                    self.prompt_for_move(model)
            case Thinking():
                self._show_thinking(model, message)
            case Answer(text=text):
                self._output.print(words.with_addresses(text, self._address))
            case Presence():
                self._show_presence(before, model, message)
            case May():
                self._show_claims(before, model)
                if self._output.has_prompt and self.is_over(model):
                    self.prompt_after_match(model)
            case _:
                assert_never(message)

    def _show_event(self, before: Model, model: Model, message: LoggedEvent) -> None:
        board = words.board_of(model)
        if isinstance(message.event, Started | Moved | TookBack | Finished):
            self._output.end_prompt()  # it belongs to the earlier position
        match message.event:
            case Moved(ply=ply, seat=seat):
                if model.match is not None and len(model.match.moves) > ply:
                    self._unprinted_moves.append((ply, seat, model.match.moves[ply]))
                    if not _sends_views(model):
                        self._print_moves(model)
            case Finished():
                self._is_result_unprinted = self._is_score_unprinted = True
                if not _sends_views(model):
                    self._print_moves(model)
                    self.prompt_after_match(model)
            case Started(number=number, title=str() as title):
                # The names of the sides follow with the description of the game.
                self._output.print(f"Match {number}: {words.quoted(title)}")
            case Started(number=number, seats=seats, clock=clock):
                players = " against ".join(
                    f"{words.quoted(occupant.name)} ({words.side_name(board, seat)})"
                    for seat, occupant in enumerate(seats)
                )
                self._output.print(f"Match {number}: {players}{words.clock_suffix(clock)}")
            case SeatTaken(occupant=taker) if (
                taker.identity == model.me and message.v <= self.seated_at_v
            ):
                pass  # the user has read it already
            case SeatTaken(seat=seat, occupant=occupant):
                self._arriving.add(seat)
                self._output.report(
                    f"{words.quoted(occupant.name)} takes a seat: {words.side_name(board, seat)}."
                )
            case SeatLeft(seat=seat):
                former = before.seats[seat]
                name = words.quoted(former.name) if former else "A player"
                self._output.report(f"{name} leaves the seat {words.side_name(board, seat)}.")
            case TookBack(seat=seat, to_ply=to_ply):
                moves = words.moves_back(before, to_ply)
                self._output.report(f"{words.player_name(model, seat)} took back {moves}.")
            case (
                Offered(seat=seat, what="draw" | "rematch" as what, to_ply=to_ply)
                | Offered(seat=seat, what="takeback" as what, to_ply=int() as to_ply)
            ):
                offer = f"offered a {what}"
                if what == "takeback" and to_ply is not None:
                    offer = f"asks to take {words.moves_back(model, to_ply)} back"
                is_mine_to_answer = model.my_seat not in (None, seat)
                advice = " Type accept or decline." if is_mine_to_answer else ""
                self._output.report(f"{words.player_name(model, seat)} {offer}.{advice}")
            case Offered(seat=seat, what="next") if model.next_offer is not None:
                advice = " Type accept or decline." if model.my_seat not in (None, seat) else ""
                name = words.player_name(model, seat)
                proposal = words.proposal_text(model.next_offer, model.clock)
                self._output.report(f"{name} proposes the next game: {proposal}.{advice}")
            case Declined(seat=seat, what="next") if before.next_offer is not None:
                is_own = before.next_offer.seat == seat
                title = words.quoted(before.next_offer.title or "the next game")
                verb = "withdrew the proposal of" if is_own else "declined"
                self._output.report(f"{words.player_name(model, seat)} {verb} {title}.")
            case Declined(seat=seat, what=what):
                own = (
                    {each.seat for each in before.takebacks}
                    if what == "takeback"
                    else before.offers
                )
                verb = "withdrew" if seat in own else "declined"
                self._output.report(f"{words.player_name(model, seat)} {verb} the {what}.")
            case TimeAdded(seat=seat, ms=ms):
                giver = words.player_name(model, 1 - seat)
                receiver = words.player_name(model, seat)
                self._output.report(f"{giver} gives {receiver} {ms // 1000} s more.")
            case Held(why=why):
                self._output.report(f"The clock stands: {HELD_TEXTS.get(why, why)}.")
            case Released() if times := clocks_text(model, self._server_ms()):
                self._output.report(f"The clock goes on: {times}.")
            case AiTookOver(seat=seat):
                self._output.report(f"{words.player_name(model, seat)} plays on.")
            case PlayerReturned(seat=seat):
                self._output.report(f"{words.player_name(model, seat)} is back and plays on.")
            case Renamed(identity=identity, name=name):
                old_name = names.players(before).get(identity, "A player")
                self._output.report(f"{words.quoted(old_name)} is now {words.quoted(name)}.")
            case Configured(help=bool() as has_help) if has_help is not before.has_help:
                self._output.report(
                    "The bot may help both players with positions now."
                    if has_help
                    else "The bot no longer helps people who play each other."
                )
            case Configured(clock=str() as clock) if model.clock != before.clock:
                self._output.report(
                    "The next match has no clock."
                    if model.clock is None
                    else f"The next match has the clock {words.control_name(clock)}."
                )
            case Configured(thinking=setting) if setting in words.THINKING_SETTING_TEXTS:
                self._output.report(words.THINKING_SETTING_TEXTS[setting])
            case Muted(name=name):
                self._output.report(f"The host has muted {words.quoted(name)}.")
            case Unmuted(name=name):
                self._output.report(f"The host has unmuted {words.quoted(name)}.")
            case Barred(identity=identity) if identity == model.me:
                self._output.report(
                    "The host keeps this seat for someone else. You may watch, but not sit here."
                )
            case Barred(name=name):
                self._output.report(
                    f"The host keeps the seat for someone else; {words.quoted(name)} may watch."
                )
            case Said(identity=identity) if identity in self._muted:
                pass
            case Said(to=to) as said:
                line = f"<{self._author(model, said)}> {words.quoted(said.text)}"
                self._output.print(line + READERS.get(to, ""))
            case _:
                pass

    def _author(self, model: Model, line: ChatLine | Said) -> str:
        """The author of a line, with what tells them from other people of the same name."""
        return f"{words.quoted(line.name)}{names.marks(model).get(line.identity, '')}"

    def mute(self, model: Model, command: CommandName, name: str) -> str:
        """Hides or shows what a person of this name writes; returns the answer to the user."""
        if not name:
            return "Add a name, for example: mute Ada"
        identity, name = names.find(model, name), words.quoted(name)
        if identity is None:
            return f'Nobody here has the name "{name}".'
        if command is CommandName.MUTE:
            self._muted.add(identity)
            return f"You do not see what {name} writes. To see it again, type unmute {name}."
        self._muted.remove(identity)
        return f"You see again what {name} writes."

    def _print_moves(self, model: Model, view: View | None = None) -> None:
        """Prints the moves that waited for the view with their notation, then the result, unless it
        stands below the board of this view.
        """
        board = words.board_of(model)
        for ply, seat, played in [] if self._is_drawn else self._unprinted_moves:
            after = view.view if view is not None and view.ply == ply + 1 else None
            self._output.print(words.move_line(board, ply, seat, played, after))
        self._unprinted_moves.clear()
        if self._brief or view is None or view.view.turn is not None:
            self._print_result(model)

    def _print_result(self, model: Model) -> None:
        match = model.match
        if self._is_result_unprinted and match is not None and match.over is not None:
            self._output.print(words.result_of(model, match.over))
        self._is_result_unprinted = False
        if self._is_score_unprinted and match is not None and match.over is not None:
            self._is_score_unprinted = False
            if score := words.series_text(model):
                self._output.report(score)

    def _show_view(self, before: Model, model: Model, message: View) -> None:
        """Prints the board; for a player only at the start, at their turns and at the end."""
        if model.view is not message.view or _is_repeat(before.latest_view, message):
            return
        my_seat = model.my_seat
        if not self._brief and (
            my_seat is None
            or model.is_one_screen
            or message.view.turn in (None, my_seat)
            or message.ply == 0
        ):
            self._output.print(
                draw_current_board(model, self._output.colours, self._output.has_figures)
            )
            self._is_result_unprinted = False  # it stands below the board
        self._print_result(model)
        if self._output.interactive:
            self.prompt(model)

    def _show_thinking(self, model: Model, thinking: Thinking) -> None:
        """Prints a due report of a search, and the log of a strategy that is done."""
        if self._is_drawn:
            return
        if thinking.log:
            self._output.print(thinking.log.rstrip("\n"))
        if self._search_reports.is_due(thinking, asyncio.get_running_loop().time()):
            name = words.thinker(model, thinking)
            self._output.report(f"  {words.thinking_text(name, thinking)}")

    def _show_presence(self, before: Model, model: Model, presence: Presence) -> None:
        """Says which of the other players has come back or gone, or is on another page now."""
        seats = zip(before.present, presence.seats, strict=False)
        for seat, (was_present, is_present) in enumerate(seats):
            has_changed = was_present != is_present
            has_arrived = has_changed and is_present and seat in self._arriving
            if has_changed:
                self._arriving.discard(seat)
            if seat == model.my_seat or model.seats[seat] is None or has_arrived:
                continue
            if has_changed and is_present:
                self._output.report(f"{words.player_name(model, seat)} is back.")
            elif has_changed or (
                not is_present and (seat in before.elsewhere) != (seat in model.elsewhere)
            ):
                self._output.report(words.absence_text(model, seat))
        self._show_time_to_claim(before, model)

    def _show_time_to_claim(self, before: Model, model: Model) -> None:
        """Says when the match may be claimed from an opponent who has just gone."""
        seat = None if model.my_seat is None else 1 - model.my_seat
        if seat is None or len(model.gone_ms) <= seat or len(before.gone_ms) > seat:
            return
        left_ms = model.gone_ms[seat]
        if left_ms is None or model.claims_of_absence:
            return
        if model.may is not None and "abort" in model.may:
            self._output.report("You may abort the match: type abort. Or wait.")
            return
        conditions = [f"in {-(-left_ms // 1000)} s"] if left_ms > 0 else []
        conditions += ["after your move"] if model.moves else []
        when = " and ".join(conditions) or "soon"
        self._output.report(f"{when.capitalize()} you may claim the match. Or wait.")

    def _show_claims(self, before: Model, model: Model) -> None:
        """Says how the match may be claimed, when the server begins to permit it."""
        if (claims := model.claims_of_absence) and not before.claims_of_absence:
            *others, last = [name.replace("_", "-") for name in claims]
            typed = f"{', '.join(others)} or {last}" if others else last
            self._output.report(f"You may claim the match: type {typed}. Or wait.")

    def prompt(self, model: Model) -> None:
        """Shows the prompt again after a line of input."""
        if self.is_over(model):
            self.prompt_after_match(model)
        else:
            self.prompt_for_move(model)

    def prompt_for_move(self, model: Model) -> None:
        """Asks for a move, if it is this player's turn and the board has arrived; a terminal shows
        a prompt at any time.
        """
        self._shown = model
        if model.moves and model.view is not None:
            if model.claim is not None:
                self._output.report(f"You may claim a draw ({model.claim}): type claim.")
            state = words.position_text(words.board_of(model), model.view)
            again = " again" if words.moves_again(model) else ""
            text = f"Your move{again} (or help)" if self._output.interactive else state
            self._output.prompt(text, clocks=self._times)
        elif self._output.interactive and not _precedes_turn(model):
            self._output.prompt(words.waiting_text(model), is_waiting=True, clocks=self._times)

    def _times(self) -> str:
        """The clocks of the room as it is now; "" without clocks."""
        return "" if self._shown is None else clocks_text(self._shown, self._server_ms())

    def prompt_after_match(self, model: Model) -> None:
        """Asks what to do after a match, on a terminal."""
        if self._output.interactive:
            self._output.prompt(words.next_match_text(model))


class SearchReports:
    """Decides which reports of the AI's searches are printed: waiting for an engine, compiling, a
    wait in the queue that lasts, progress every `THINKING_INTERVAL_S`, and the final result.
    """

    def __init__(self) -> None:
        self._printed_at_s = 0.0
        self._state = ""
        self._is_wait_printed = False

    def is_due(self, thinking: Thinking, now_s: float) -> bool:
        """Whether to print this report, which must be the next one of the room; records it."""
        is_new_state = thinking.state != self._state
        self._state = thinking.state
        has_result = thinking.depth > 0
        if is_new_state and thinking.state in ("searching", "queued"):
            self._printed_at_s = now_s
            self._is_wait_printed = False
            return False
        is_long_wait = thinking.state == "queued" and thinking.wait and not self._is_wait_printed
        self._is_wait_printed = self._is_wait_printed or bool(is_long_wait)
        is_due = (
            (is_new_state and thinking.state in ("warming", "absent"))
            or bool(is_long_wait)
            or (thinking.state == "done" and has_result)
            or (now_s - self._printed_at_s >= THINKING_INTERVAL_S and has_result)
        )
        if is_due:
            self._printed_at_s = now_s
        return is_due


def _sends_views(model: Model) -> bool:
    """Whether the server sends views of the positions in this room."""
    return words.board_of(model) is not None and model.frozen is None


def _has_other_game(before: Model, model: Model) -> bool:
    """Whether the room's game or its options have changed."""
    old, new = before.description, model.description
    return (
        old is not None and new is not None and (old.game, old.options) != (new.game, new.options)
    )


def _precedes_view(message: RoomMessage) -> bool:
    """Whether the view of the position follows, with the notation of the last move."""
    return isinstance(message, May) or (
        isinstance(message, LoggedEvent) and isinstance(message.event, Moved | Finished)
    )


def _is_repeat(before: View | Turn | None, message: View | Turn) -> bool:
    """Whether a message repeats the earlier one, as after a reconnect."""
    return before is not None and msgspec.structs.replace(before, v=message.v) == message


def _precedes_turn(model: Model) -> bool:
    """Whether the server is about to ask this player for a move."""
    if not model.running or model.view is None or model.my_seat is None:
        return False
    return model.is_one_screen or model.view.turn == model.my_seat
