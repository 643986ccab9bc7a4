"""Parses a typed line: a move, a chat message, or a command, and makes the command of the room that
a word stands for. This module does no I/O.
"""

import difflib
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from types import MappingProxyType
from typing import get_args

import msgspec

from client.model import Model
from client.terminal import names, words
from client.terminal.layout import ROWS
from engine.view import MoveView, cell_ids
from server.commands import (
    Abort,
    Accept,
    AddAi,
    AddTime,
    Bar,
    CallDraw,
    Claim,
    ClaimWin,
    ClientCommand,
    Configure,
    Decline,
    HintKind,
    LetAiPlay,
    Mute,
    NextGame,
    OfferDraw,
    OfferKind,
    ReclaimSeat,
    Rematch,
    RemoveAi,
    Resign,
    Sit,
    Stand,
    Takeback,
    ThinkingSetting,
    Unmute,
)
from server.questions import parse_question
from server.time_controls import TimeControlError, format_control, parse_people


class CommandName(Enum):
    """The commands by their full names, which work even where a short form is a move."""

    BOARD = "board"
    MOVES = "moves"
    LAST = "last"
    PIECES = "pieces"
    THINKING = "thinking"
    HINT = "hint"
    RESIGN = "resign"
    CLAIM = "claim"
    DRAW = "draw"
    TAKEBACK = "takeback"
    ACCEPT = "accept"
    REMATCH = "rematch"
    NEXT = "next"
    EASIER = "easier"
    HARDER = "harder"
    DECLINE = "decline"
    ABORT = "abort"
    SIT = "sit"
    STAND = "stand"
    AI = "ai"
    CLAIM_WIN = "claim-win"
    CALL_DRAW = "call-draw"
    LET_AI_PLAY = "let-ai-play"
    TIME = "time"
    ADD_TIME = "add-time"
    RECLAIM = "reclaim"
    NAME = "name"
    MUTE = "mute"
    UNMUTE = "unmute"
    MUTE_ALL = "mute-all"
    UNMUTE_ALL = "unmute-all"
    BAR = "bar"
    ALLOW_HELP = "allow-help"
    HELP = "help"
    QUIT = "quit"


#: The commands by their short forms.
SHORT_FORMS = {
    "b": CommandName.BOARD,
    "m": CommandName.MOVES,
    "l": CommandName.LAST,
    "p": CommandName.PIECES,
    "t": CommandName.THINKING,
    "?": CommandName.HELP,
    "q": CommandName.QUIT,
    "exit": CommandName.QUIT,
}
#: What people type elsewhere, by the command that it is here.
SYNONYMS = {
    "undo": CommandName.TAKEBACK,
    "take back": CommandName.TAKEBACK,
    "give up": CommandName.RESIGN,
    "surrender": CommandName.RESIGN,
    "leave": CommandName.QUIT,
}
#: The short forms that may follow a slash; the others are moves or say nothing.
SLASHED_FORMS = ("?", "q", "exit")
#: The commands of the room that a word alone gives.
ROOM_COMMANDS: Mapping[
    CommandName,
    type[
        Resign
        | Abort
        | Claim
        | OfferDraw
        | Takeback
        | Accept
        | Rematch
        | Decline
        | ClaimWin
        | CallDraw
        | LetAiPlay
        | AddTime
        | ReclaimSeat
    ],
] = {
    CommandName.RESIGN: Resign,
    CommandName.ABORT: Abort,
    CommandName.CLAIM: Claim,
    CommandName.DRAW: OfferDraw,
    CommandName.TAKEBACK: Takeback,
    CommandName.ACCEPT: Accept,
    CommandName.REMATCH: Rematch,
    CommandName.DECLINE: Decline,
    CommandName.CLAIM_WIN: ClaimWin,
    CommandName.CALL_DRAW: CallDraw,
    CommandName.LET_AI_PLAY: LetAiPlay,
    CommandName.ADD_TIME: AddTime,
    CommandName.RECLAIM: ReclaimSeat,
}
#: What may be accepted and declined, by its word.
OFFER_KINDS: dict[str, OfferKind] = {what: what for what in get_args(OfferKind)}
#: The commands by their full names.
COMMANDS = {command.value: command for command in CommandName}
#: Who may see the AI's thinking, from everyone to nobody.
THINKING_SETTINGS: tuple[ThinkingSetting, ...] = get_args(ThinkingSetting)
#: What may follow the command `hint`.
HINT_KINDS: tuple[HintKind, ...] = get_args(HintKind)
#: What follows a command that a user on a terminal must confirm, to confirm it at once.
CONFIRMED = "yes"
#: What follows `help` for the list of all commands.
ALL_COMMANDS = "all"
#: The words that may follow a command.
ARGUMENTS: Mapping[CommandName, tuple[str, ...]] = {
    CommandName.RESIGN: (CONFIRMED,),
    CommandName.ABORT: (CONFIRMED,),
    CommandName.ACCEPT: tuple(OFFER_KINDS),
    CommandName.DECLINE: tuple(OFFER_KINDS),
    CommandName.THINKING: THINKING_SETTINGS,
    CommandName.HINT: HINT_KINDS,
    CommandName.ALLOW_HELP: ("on", "off"),
    CommandName.HELP: (ALL_COMMANDS,),
}
#: The commands that a text may follow which is not of ARGUMENTS: a name, a side, a game.
WITH_TEXT = frozenset({
    CommandName.AI, CommandName.BAR, CommandName.MUTE, CommandName.MUTE_ALL, CommandName.NAME,
    CommandName.NEXT, CommandName.PIECES, CommandName.SIT, CommandName.UNMUTE,
    CommandName.UNMUTE_ALL,
})  # fmt: skip
#: The id of a command that is only tried.
ANY_ID = "any"
#: What follows `ai` to remove one.
NO_AI = ("off", "remove")
#: The error message for an `ai` with an unknown argument.
AI_USAGE = "type ai and a level (ai 3) or a persona (ai average), or ai off"
#: The error message for a `next` without a game.
NEXT_USAGE = (
    "type next and a game: next othello, next chess same level 3, next sticks rows=1-3-5,"
    " next chess clock 5+3"
)
#: The words for the sides in the next match: for each seat, the one that its player holds now.
SEAT_WORDS = {"same": (0, 1), "swap": (1, 0)}
#: Maximum number of moves that an error message lists.
MAX_LISTED_MOVES = 12

#: Text that may be a move in a game's notation: "Nf3", "exd8=Q+", "0-0".
NOTATION = re.compile(r"(?=.*\d)[\w+#=@*!:-]{2,16}|[O0o]-[O0o](-[O0o])?[+#]?")
#: Text that may be a move as people write it, which only the server can read: it has a number, a
#: figurine or a few letters: "1. e4 {good}", "e2 e4", "O-O!", "exd".
WRITTEN = re.compile(
    r"(?=.*[\d\u2654-\u265f]).{1,80}|[^\W\d_](?:\W?[^\W\d_]){0,2}\W{0,3}", re.DOTALL
)

#: Text for the chat, as people type it.
SPOKEN = re.compile(r"(?:chat|say)\s+(.+)", re.IGNORECASE)
#: The words before such a text.
SPEECH_WORDS = ("chat", "say")
#: A question in words, which is for the chat: "what should I do?", "why?".
QUESTION = re.compile(r"(?:why|\w+['\u2019]?\w* .*\w.*)\s*\?", re.IGNORECASE)
#: What people write into an input line for the other people.
GREETINGS = (
    "hello", "hi", "hey", "thanks", "thank you", "good luck", "gl", "gg", "good game", "ok", "lol",
    "well played", "sorry", "nice", "wow", "bye",
)  # fmt: skip
#: How similar a misspelt command must be to one: "coahc" is, "great" is not like "threat".
LIKE_COMMAND = 0.76
#: The signs before a command: a slash, and that of wide letters.
SLASHES = ("/", "\N{FULLWIDTH SOLIDUS}")


@dataclass(frozen=True, slots=True)
class PlayMove:
    """Play this legal move."""

    move: MoveView


@dataclass(frozen=True, slots=True)
class TryMove:
    """Send a text that may be a move in the game's notation, which only the server can parse."""

    text: str


@dataclass(frozen=True, slots=True)
class SendChat:
    """Send this line of chat to the room."""

    text: str


@dataclass(frozen=True, slots=True)
class RunCommand:
    """Execute a command; `argument` is the text after it."""

    command: CommandName
    argument: str = ""


@dataclass(frozen=True, slots=True)
class PressKey:
    """Do what this key of the screen does."""

    key: str


@dataclass(frozen=True, slots=True)
class Unclear:
    """Reject the line as unknown or ambiguous; `reason` is the message for the user, `instead` a
    line that they may have meant.
    """

    reason: str
    instead: str = ""


#: The action that a typed line asks for.
Action = PlayMove | TryMove | SendChat | RunCommand | PressKey | Unclear
#: The keys of a screen that has none.
NO_KEYS: Mapping[str, str] = MappingProxyType({})


def parse_line(line: str, model: Model, keys: Mapping[str, str] = NO_KEYS) -> Action | None:
    """Returns the action for a line in this room; None for an empty line.

    A move takes precedence over a command with the same text. `keys` has the words that stand for
    a key of the screen.
    """
    text = line.strip()
    if not text:
        return None
    if text.startswith(SLASHES):
        return _parse_slash(text, model, keys)
    if spoken := SPOKEN.fullmatch(text):
        return SendChat(spoken[1])
    moves = matching_moves(text, model.moves)
    if len(moves) == 1:
        return TryMove(text) if _may_be_another(text, moves[0], model) else PlayMove(moves[0])
    if moves:
        choices = (f"{move.id} ({move.choice})" if move.choice else move.id for move in moves)
        return Unclear(f"{text} can be any of: {', '.join(choices)}")
    word = text.lower()
    if word in keys and word not in move_words(model):
        return PressKey(keys[word])
    if word in SYNONYMS:
        return RunCommand(SYNONYMS[word])
    is_question = QUESTION.fullmatch(text) is not None or _asks_bot(text, model)
    return SendChat(text) if is_question else _parse_command(text, model, keys)


def _asks_bot(text: str, model: Model) -> bool:
    """Whether a line is a plain question to the room's bot: "why did you do that", "i am stuck".

    A single word that is a command is that command.
    """
    if not model.chat_commands or text.lower() in COMMANDS or text.lower() in SHORT_FORMS:
        return False
    has_ai = any(each is not None and each.kind == "ai" for each in model.seats)
    return parse_question(text, has_ai) is not None


def _parse_slash(text: str, model: Model, keys: Mapping[str, str]) -> Action:
    """The action for a line that begins with a slash. A command of the room's bot asks it, any
    other command is the same as without the slash, and other text is chat.

    What begins with a command, but does not go on as it may, and a single word that is like a
    command are none of these: the one may be chat, and the other would be read by all.
    """
    said = text.lstrip("".join(SLASHES) + " ")
    if not said:
        return Unclear("What do you want to say? For example: /good luck")
    if spoken := SPOKEN.fullmatch(said):
        return SendChat(spoken[1])
    name, _, argument = said.partition(" ")
    asked = name.rstrip("?!.")
    word, whole = name.lower().rstrip("!."), said.lower().rstrip("!.")
    if whole in keys:
        return PressKey(keys[whole])
    if asked.lower() in model.chat_commands:
        return SendChat(f"/{asked} {argument}".rstrip())
    if whole in SYNONYMS:
        return RunCommand(SYNONYMS[whole])
    if whole in SLASHED_FORMS:
        return RunCommand(SHORT_FORMS[whole])
    if word in COMMANDS:
        command, argument = COMMANDS[word], argument.strip()
        is_command = not argument or _may_follow(command, argument, model)
        return RunCommand(command, argument) if is_command else _not_command(command, said)
    if whole in SPEECH_WORDS:
        return Unclear(f"What do you want to say? For example: /{whole} good luck")
    if not argument and (meant := similar_command(word, model, keys)):
        reason = f"There is no /{name}. Did you mean {meant}? To say it to the room: say {said}"
        return Unclear(reason, meant)
    return SendChat(said)


def _may_follow(command: CommandName, argument: str, model: Model) -> bool:
    """Whether a text after a slash and a command makes sense to it, so that it is no chat."""
    match command:
        case CommandName.NAME:
            return len(argument.split()) <= 2
        case CommandName.PIECES:
            return " " not in argument
        case CommandName.MUTE | CommandName.UNMUTE | CommandName.MUTE_ALL | CommandName.BAR:
            return names.find(model, argument) is not None
        case CommandName.UNMUTE_ALL:
            return names.key(argument) in {names.key(each.name) for each in model.muted}
        case CommandName.SIT:
            board = words.board_of(model)
            sides = (words.side_name(board, seat) for seat in range(len(model.seats)))
            return argument.lower() in {side.lower() for side in sides}
        case CommandName.AI:
            return argument.lower() in NO_AI or _ai_at(0, argument.lower(), ANY_ID) is not None
        case CommandName.NEXT:
            return not isinstance(next_command(command, argument, model, ANY_ID), str)
        case _:
            return argument.lower() in ARGUMENTS.get(command, ())


def _not_command(command: CommandName, said: str) -> Unclear:
    """The rejection of a line that begins with a command, and may be meant for the room."""
    known = ARGUMENTS.get(command, ())
    usage = f"{command.value} stands alone"
    if known:
        usage += f", or before {' or '.join(known)}"
    elif command in WITH_TEXT:
        usage = "the command has no slash"
    return Unclear(f"To say it to the room: say {said} ({usage})", f"say {said}")


def similar_command(word: str, model: Model, keys: Mapping[str, str] = NO_KEYS) -> str:
    """The command that a word is like, those of the room's bot with a slash; "" without one."""
    own = [*COMMANDS, *keys]
    found = difflib.get_close_matches(word.lower(), [*own, *model.chat_commands], 1, LIKE_COMMAND)
    if not found:
        return ""
    return found[0] if found[0] in own else f"/{found[0]}"


def matching_moves(text: str, moves: Sequence[MoveView]) -> list[MoveView]:
    """The moves that a text names: by token, by label, or by their cells in order.

    Exact matches come first; without any, case and separators are ignored.
    """
    for normalize in (str.strip, _without_separators):
        wanted = normalize(text)
        matches = [
            move
            for move in moves
            if wanted in {normalize(name) for name in (move.id, move.text, "".join(move.path))}
        ]
        if matches:
            return matches
    return []


def _may_be_another(text: str, move: MoveView, model: Model) -> bool:
    """Whether a text that names a move without its separators and case may be another move too: a
    capital may be a piece ("B2c3"), and two numbers together a cell ("15").
    """
    view = model.description.view if model.description else None
    if view is None or text in (move.id, move.text):
        return False
    letters = {kind.text.upper() for kind in view.kinds.values() if kind.text}
    return text[0] in letters or text in cell_ids(view.board)


def _without_separators(text: str) -> str:
    """The text in lower case without the separators that people write between cells."""
    return text.lower().replace(" ", "").replace("-", "").replace("x", "")


def _parse_command(text: str, model: Model, keys: Mapping[str, str]) -> Action:
    name, _, argument = text.partition(" ")
    name, argument = name.lower(), argument.strip()
    if name in COMMANDS:
        command = COMMANDS[name]
        is_chat = command in ROOM_COMMANDS and argument
        if is_chat and not _may_follow(command, argument, model):
            return Unclear(_not_command(command, text).reason)  # chat, or a word too many
        return RunCommand(command, argument)
    if name in SHORT_FORMS and name not in move_words(model):
        return RunCommand(SHORT_FORMS[name], argument)
    if text.lower().rstrip("!.") in GREETINGS:
        return Unclear(f"To say it to the room: say {text}", f"say {text}")
    if name in SPEECH_WORDS:
        return Unclear(f"What do you want to say? For example: {name} good luck")
    if model.moves and NOTATION.fullmatch(text):
        return TryMove(text)
    if name in model.chat_commands and " " not in argument:
        return SendChat(f"/{text}")
    if model.moves and re.search(r"[^!?]\?$", text) and WRITTEN.fullmatch(text):
        return Unclear(
            f"{text!r} may be a question: leave out the question mark, or type say {text}"
        )
    if model.moves and WRITTEN.fullmatch(text):
        return TryMove(text)
    if model.moves:
        return Unclear(
            f"{text!r} is neither a move nor a command here. {move_advice(text, model, keys)}"
        )
    if name in move_words(model) or (model.running and NOTATION.fullmatch(text)):
        return Unclear(no_moves_reason(model))
    meant = similar_command(text, model, keys)
    advice = f"Did you mean {meant}? " if meant else ""
    return Unclear(f"{text!r} is not a command. {advice}Type help for the commands.")


def move_advice(text: str, model: Model, keys: Mapping[str, str] = NO_KEYS) -> str:
    """The end of an error message about a text that is no move: the command that it is like, else
    moves.
    """
    if meant := similar_command(text, model, keys):
        return f"Did you mean {meant}? Type help for the commands."
    return moves_hint(model)


def moves_hint(model: Model) -> str:
    """The end of an error message: the first legal moves, and where to find help."""
    moves = ", ".join(sorted_ids(model.moves)[:MAX_LISTED_MOVES])
    more = ", …" if len(model.moves) > MAX_LISTED_MOVES else ""
    return f"Moves: {moves}{more}. Type help for the commands."


def sorted_ids(moves: Sequence[MoveView]) -> list[str]:
    """The ids of moves in order, their numbers by value: "a2", "a10", "b1"."""
    return sorted((move.id for move in moves), key=_number_aware)


def _number_aware(text: str) -> list[tuple[str, int]]:
    """A sort key: the parts of a text, each a word and the number after it."""
    return [(word, int(number or 0)) for word, number in re.findall(r"(\D*)(\d*)", text)]


def no_moves_reason(model: Model) -> str:
    """The reason why the viewer has no move to play, as a sentence."""
    if model.match is None:
        return "The match has not begun."
    return "It is not your turn." if model.running else "The match is over."


def move_words(model: Model) -> set[str]:
    """The words that are, or may become, moves in this room.

    A short form among them is not a command in this room.
    """
    view = model.description.view if model.description else None
    if view is None:
        return set()
    return {*view.targets, *cell_ids(view.board), *(move.id for move in model.moves)}


#: Each command's short form, its name and its help text, in the order of the help.
HELP = (
    ("b", CommandName.BOARD, "show the board"),
    ("m", CommandName.MOVES, "list your moves"),
    ("l", CommandName.LAST, "repeat the last move"),
    ("p", CommandName.PIECES, "name the pieces in words; pieces c: only on cells with a c"),
    ("t", CommandName.THINKING, "the best moves that the AI knows, with their chances"),
    ("", CommandName.HINT, "the best moves in words; hint piece: less help"),
    ("", CommandName.RESIGN, "resign the match"),
    ("", CommandName.ABORT, "end it without a result"),
    ("", CommandName.DRAW, "offer a draw, or accept one"),
    ("", CommandName.CLAIM, "claim a draw, where the rules allow it"),
    ("", CommandName.TAKEBACK, "take your last move back, or ask to"),
    ("", CommandName.REMATCH, "another match with sides swapped, or accept one"),
    ("", CommandName.NEXT, "another game here: next othello same level 3"),
    ("", CommandName.EASIER, "another match, against an easier level of the AI"),
    ("", CommandName.HARDER, "the same against a harder level"),
    ("", CommandName.ACCEPT, "accept what the other side offers or asks for"),
    ("", CommandName.DECLINE, "decline it"),
    ("", CommandName.SIT, "take a free seat; sit White: that one"),
    ("", CommandName.STAND, "give your seat up"),
    ("", CommandName.AI, "put an AI on a free seat: ai 3; remove it: ai off"),
    ("", CommandName.CLAIM_WIN, "claim the win, when your opponent has gone"),
    ("", CommandName.CALL_DRAW, "call it a draw, when your opponent has gone"),
    ("", CommandName.LET_AI_PLAY, "let the AI play on for an opponent who has gone"),
    ("", CommandName.TIME, "how much time both players have"),
    ("", CommandName.ADD_TIME, "give your opponent 15 s more, eight times at most"),
    ("", CommandName.RECLAIM, "take your seat back from the AI that keeps it"),
    ("", CommandName.NAME, "change your name: name Ada"),
    ("", CommandName.MUTE, "hide what a person writes: mute NAME"),
    ("", CommandName.UNMUTE, "show it again: unmute NAME"),
    ("", CommandName.MUTE_ALL, "as the host, mute for everyone: mute-all NAME"),
    ("", CommandName.UNMUTE_ALL, "as the host, end that: unmute-all NAME"),
    ("", CommandName.BAR, "as the host, free the seat of a stranger: bar NAME"),
    ("", CommandName.ALLOW_HELP, "as the host, allow the bot's help: on or off"),
    ("q", CommandName.QUIT, "leave"),
)


#: The commands that need the server's permission, with the names that `may` has for them.
PERMITTED_AS = {
    CommandName.HINT: "hint",
    CommandName.RESIGN: "resign",
    CommandName.ABORT: "abort",
    CommandName.DRAW: "offer_draw",
    CommandName.TAKEBACK: "takeback",
    CommandName.REMATCH: "rematch",
    CommandName.NEXT: "next_game",
    CommandName.EASIER: "next_game",
    CommandName.HARDER: "next_game",
    CommandName.ACCEPT: "accept",
    CommandName.DECLINE: "decline",
    CommandName.SIT: "sit",
    CommandName.STAND: "stand",
    CommandName.CLAIM_WIN: "claim_win",
    CommandName.CALL_DRAW: "call_draw",
    CommandName.LET_AI_PLAY: "let_ai_play",
    CommandName.ADD_TIME: "add_time",
    CommandName.RECLAIM: "reclaim_seat",
    CommandName.MUTE_ALL: "mute",
    CommandName.UNMUTE_ALL: "unmute",
    CommandName.BAR: "bar",
    CommandName.ALLOW_HELP: "configure",
}


def is_permitted(name: CommandName, model: Model) -> bool:
    """Whether the viewer may give this command now.

    Without a list from the server every command is permitted, except `claim`, for which `turn`
    must have a reason.
    """
    if name is CommandName.CLAIM:
        return model.claim is not None
    if name in (CommandName.EASIER, CommandName.HARDER) and ai_level(model) is None:
        return False
    if name is CommandName.AI:
        return model.permits("add_ai") or model.permits("remove_ai")
    return name not in PERMITTED_AS or model.permits(PERMITTED_AS[name])


#: Maximum number of lines of the help of now: a terminal of ROWS shows them above the prompt, and
#: the line that asked for them.
MAX_HELP_LINES = ROWS - 2


def help_text(model: Model, argument: str = "") -> str:
    """The help for the commands of now, or with `all` for all commands, without the short forms
    that are moves in this room.

    Of the commands of now it has at most MAX_HELP_LINES: names only where there are more. That for
    all says which commands are not permitted now.
    """
    shows_all = argument.lower() == ALL_COMMANDS
    rows = [*_speech_rows(model), *_command_rows(model, shows_all)]
    if shows_all:
        return "\n".join(_columns(rows))
    room_for = MAX_HELP_LINES - 1
    listed, others = rows, list[str]()
    if len(rows) > room_for:
        listed, others = rows[: room_for - 1], [usage for usage, _ in rows[room_for - 1 :]]
    lines = _columns([*listed, ("help all", "every command, also those of other times")])
    return "\n".join([*lines, *([f"  and: {', '.join(others)}"] if others else [])])


def _columns(rows: Sequence[tuple[str, str]]) -> list[str]:
    width = max(len(usage) for usage, _ in rows)
    return [f"  {usage:<{width}}  {text}" for usage, text in rows]


def _speech_rows(model: Model) -> list[tuple[str, str]]:
    """What a line may be besides a command: a move, chat, a question to the bot."""
    rows = [("MOVE", _move_help(model))] if model.moves or not model.running else []
    rows.append(("say TEXT, /TEXT", "say it to the room, but /WORD of this list is that word"))
    if model.chat_commands:
        rows.append(("/help", "ask the room's bot what it can answer, for you alone"))
        rows.append(("QUESTION?", "ask in the chat; the bot knows some: what should I do?"))
    return rows


def _command_rows(model: Model, shows_all: bool) -> list[tuple[str, str]]:
    """The commands with their short forms: all of them, or those that do something now."""
    hidden = move_words(model)
    return [
        (
            f"{name.value}, {short}" if short and short not in hidden else name.value,
            text if is_permitted(name, model) else f"{text} (not now)",
        )
        for short, name, text in HELP
        if shows_all or (is_permitted(name, model) and _does_something(name, model))
    ]


def _does_something(name: CommandName, model: Model) -> bool:
    """Whether a command that is always permitted has something to show or to do now."""
    match name:
        case CommandName.MOVES:
            return bool(model.moves)
        case CommandName.LAST:
            return model.ply > 0
        case CommandName.BOARD | CommandName.PIECES:
            return model.view is not None
        case CommandName.THINKING:
            return any(each is not None and each.kind == "ai" for each in model.seats)
        case CommandName.TIME:
            return model.clock is not None or (model.match is not None and bool(model.match.clock))
        case CommandName.MUTE | CommandName.UNMUTE:
            others = {*names.marks(model)} - {model.me}
            return bool(others)
        case _:
            return True


def _move_help(model: Model) -> str:
    example = f", for example {model.moves[0].id}" if model.moves else ""
    return f"play it{example}"


# --- the commands of the room ---


def plain_command(
    name: CommandName, model: Model, command_id: str, argument: str = ""
) -> ClientCommand:
    """Returns the command of a word of ROOM_COMMANDS.

    `accept` and `decline` may name the offer, one of OFFER_KINDS; without a name they answer the
    opponent's, and `decline` withdraws the user's own if the opponent offers nothing.
    """
    kind = ROOM_COMMANDS[name]
    if kind is Takeback:
        return Takeback(id=command_id, ply=model.ply)
    what = OFFER_KINDS.get(argument.lower(), _offered(model))
    if kind is Decline:
        return Decline(id=command_id, what=what)
    if kind is Accept:
        ply = model.ply if what == "takeback" else None
        v = model.next_offer.v if what == "next" and model.next_offer is not None else None
        return Accept(id=command_id, what=what, ply=ply, v=v)
    return kind(id=command_id)  # type: ignore[call-arg]


def _offered(model: Model) -> OfferKind | None:
    """What the opponent offers or asks for, the first of several; None without an offer."""
    seat = model.my_seat
    if any(offering != seat for offering in model.offers):
        return draw_or_rematch(model)
    if any(request.seat != seat for request in model.takebacks):
        return "takeback"
    proposal = model.next_offer
    return "next" if proposal is not None and proposal.seat != seat else None


def draw_or_rematch(model: Model) -> OfferKind:
    """What an offer of `model.offers` is."""
    return "draw" if model.running else "rematch"


def ai_level(model: Model) -> int | None:
    """The level of the AI in the room; None without an AI at a level."""
    levels = [each.level for each in model.seats if each is not None and each.kind == "ai"]
    return levels[0] if levels else None


def next_command(
    name: CommandName, argument: str, model: Model, command_id: str
) -> ClientCommand | str:
    """Returns the command for the room's next game, or an error in words.

    `argument` has the words of the game, by default the room's own, then in any order `same` (or
    `swap`, the default) for the sides, `level` with a number, `clock` with a time control (`-` for
    none), and options as NAME=VALUE.
    """
    room = model.description
    if room is None:
        return "the room has not arrived yet"
    if name is not CommandName.NEXT:
        return _at_another_level(1 if name is CommandName.HARDER else -1, model, command_id)
    level: int | None = None
    clock: str | None = None
    seats, options, game = (1, 0), dict[str, str](), list[str]()
    words_left = argument.split()
    while words_left:
        word = words_left.pop(0)
        option, equals, value = word.partition("=")
        if word.lower() == "clock":
            try:
                clock = format_control(parse_people(words_left.pop(0) if words_left else "?"))
            except TimeControlError as error:
                return str(error)
        elif equals:
            options[option] = value
        elif word.lower() in SEAT_WORDS:
            seats = SEAT_WORDS[word.lower()]
        elif word.lower() == "level" and words_left and words_left[0].isdecimal():
            level = int(words_left.pop(0))
        else:
            game.append(word.lower().replace("'", "").replace("\u2019", ""))
    if not argument:
        return NEXT_USAGE
    if not game:
        options = {**room.options, **options}
    command = NextGame(command_id, "-".join(game) or room.game, options, seats, level, clock)
    try:
        return msgspec.convert(msgspec.to_builtins(command), NextGame)
    except msgspec.ValidationError:
        return NEXT_USAGE


def _at_another_level(step: int, model: Model, command_id: str) -> NextGame | str:
    """The command for another match of the room's game, against a level higher or lower."""
    level, room = ai_level(model), model.description
    if level is None or room is None:
        return "no AI at a level plays here"
    if not 1 <= level + step <= room.levels:
        return f"{room.title} has levels 1 to {room.levels}"
    return NextGame(command_id, room.game, room.options, (1, 0), level + step)


def seat_command(
    name: CommandName, argument: str, model: Model, command_id: str
) -> ClientCommand | str:
    """Returns the room's command for a word about seats, or the reason why there is none.

    `argument` of `sit` is the name of a side; of `ai` a level, a persona or "off".
    """
    if name is CommandName.STAND:
        return Stand(id=command_id)
    if name is CommandName.SIT:
        seat = _free_seat(model, argument)
        return seat if isinstance(seat, str) else Sit(id=command_id, seat=seat)
    if argument.lower() in NO_AI:
        return _remove_ai(model, command_id)
    return _add_ai(argument.lower(), model, command_id)


def _free_seat(model: Model, side: str = "") -> int | str:
    """The free seat of a side, or the first one; the reason if there is none."""
    free = [seat for seat, occupant in enumerate(model.seats) if occupant is None]
    if not free:
        return "Both seats are taken."
    sides = {seat: words.side_name(words.board_of(model), seat) for seat in free}
    if not side:
        return free[0]
    matching = [seat for seat, name in sides.items() if name.lower() == side.lower()]
    if matching:
        return matching[0]
    return f"There is no free seat {side}; free: {', '.join(sides.values())}."


def _add_ai(argument: str, model: Model, command_id: str) -> AddAi | str:
    seat = _free_seat(model)
    if isinstance(seat, str):
        return seat
    return _ai_at(seat, argument, command_id) or AI_USAGE


def _ai_at(seat: int, argument: str, command_id: str) -> AddAi | None:
    """The command for an AI of a level or a persona; None for any other text."""
    command = {"t": "add_ai", "id": command_id, "seat": seat}
    chosen = {"level": int(argument)} if argument.isdecimal() else {"persona": argument}
    try:
        return msgspec.convert(command | chosen, AddAi)
    except msgspec.ValidationError:
        return None


def _remove_ai(model: Model, command_id: str) -> RemoveAi | str:
    held = [seat for seat, each in enumerate(model.seats) if each and each.kind == "ai"]
    if not held:
        return "No AI has a seat here."
    return RemoveAi(id=command_id, seat=held[-1])


def mute_command(
    name: CommandName, argument: str, model: Model, command_id: str
) -> ClientCommand | str:
    """Returns the command that mutes or unmutes a person for everyone, or an error in words.

    `argument` is the person's name, with a mark if several have it: "Ada (2)".
    """
    if not argument:
        return f"Add a name, for example: {name.value} Ada"
    if name is CommandName.UNMUTE_ALL:
        muted = {names.key(each.name): each.identity for each in model.muted}
        identity = muted.get(names.key(argument))
    else:
        identity = names.find(model, argument)
    if identity is None:
        return f'Nobody here has the name "{words.quoted(argument)}".'
    kind = Mute if name is CommandName.MUTE_ALL else Unmute
    return kind(id=command_id, identity=identity)


def bar_command(
    name: CommandName, argument: str, model: Model, command_id: str
) -> ClientCommand | str:
    """Returns the command that frees the seat of a person for whom it was not meant, or an error in
    words.

    `argument` is the person's name; "" stands for the only other person who has a seat.
    """
    others = [identity for identity in names.players(model) if identity != model.me]
    if argument:
        identity = names.find(model, argument)
        if identity is None:
            return f'Nobody here has the name "{words.quoted(argument)}".'
        return Bar(id=command_id, identity=identity)
    if len(others) == 1:
        return Bar(id=command_id, identity=others[0])
    if others:
        return f"Add a name, for example: {name.value} Ada"
    return "Nobody else has a seat here."


def help_command(
    name: CommandName, argument: str, model: Model, command_id: str
) -> ClientCommand | str:
    """Returns the command that lets the bot help two people with positions, or no longer.

    `argument` is "on" or "off"; for any other the text says what the room's setting is.
    """
    if argument not in ("on", "off"):
        now = "may help" if model.has_help else "does not help"
        return f"type allow-help on or allow-help off; now the bot {now} people who play each other"
    thinking = next(
        (each for each in THINKING_SETTINGS if each == model.thinking_setting),
        THINKING_SETTINGS[-1],
    )
    return Configure(id=command_id, thinking=thinking, help=argument == "on")


#: What makes the command of a word with an argument, or says why there is none.
PARSERS: Mapping[CommandName, Callable[[CommandName, str, Model, str], ClientCommand | str]] = {
    CommandName.SIT: seat_command,
    CommandName.STAND: seat_command,
    CommandName.AI: seat_command,
    CommandName.MUTE_ALL: mute_command,
    CommandName.UNMUTE_ALL: mute_command,
    CommandName.BAR: bar_command,
    CommandName.ALLOW_HELP: help_command,
    CommandName.NEXT: next_command,
    CommandName.EASIER: next_command,
    CommandName.HARDER: next_command,
}
