"""The meaning of a typed line: a move, a chat message, or a command. This module does no I/O."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from client.model import Model
from engine.view import MoveView, cell_ids


class Word(Enum):
    """The commands. A command's value works even where its short form is a move."""

    BOARD = "board"
    MOVES = "moves"
    LAST = "last"
    PIECES = "pieces"
    THINKING = "thinking"
    RESIGN = "resign"
    CLAIM = "claim"
    DRAW = "draw"
    ACCEPT = "accept"
    REMATCH = "rematch"
    DECLINE = "decline"
    ABORT = "abort"
    HELP = "help"
    QUIT = "quit"


#: The short forms of commands.
SHORT = {
    "b": Word.BOARD,
    "m": Word.MOVES,
    "l": Word.LAST,
    "p": Word.PIECES,
    "t": Word.THINKING,
    "?": Word.HELP,
    "q": Word.QUIT,
    "exit": Word.QUIT,
}
#: The commands by their words.
LONG = {word.value: word for word in Word}
#: How many moves an error message lists.
WORDS_SHOWN = 12

#: Text that may be a move in players' notation: "Nf3", "exd8=Q+", "0-0".
NOTATION = re.compile(r"(?=.*\d)[\w+#=@*!:-]{2,16}|[O0o]-[O0o](-[O0o])?[+#]?")


@dataclass(frozen=True, slots=True)
class Play:
    """Play this legal move."""

    move: MoveView


@dataclass(frozen=True, slots=True)
class Try:
    """Text that may be a move in the game's own notation, which only the server can parse."""

    text: str


@dataclass(frozen=True, slots=True)
class Say:
    """Send this text to the room."""

    text: str


@dataclass(frozen=True, slots=True)
class Do:
    """Execute a command; `about` is the text typed after it."""

    word: Word
    about: str = ""


@dataclass(frozen=True, slots=True)
class Unclear:
    """The line is neither a move, a message nor a command, or is ambiguous, for this reason."""

    reason: str


Action = Play | Try | Say | Do | Unclear


def read_line(line: str, model: Model) -> Action | None:
    """The meaning of a line in this room; None for an empty one.

    A move takes precedence over a command with the same text.
    """
    text = line.strip()
    if not text:
        return None
    if text.startswith("/") or text.lower().startswith("chat "):
        said = text[1:].strip() if text.startswith("/") else text[5:].strip()
        return Say(said) if said else Unclear("What do you want to say? For example: /good luck")
    found = matching_moves(text, model.moves)
    if len(found) == 1:
        return Play(found[0])
    if found:
        ways = (f"{move.id} ({move.choice})" if move.choice else move.id for move in found)
        return Unclear(f"{text} can be any of: {', '.join(ways)}")
    return _read_word(text, model)


def matching_moves(text: str, moves: Sequence[MoveView]) -> list[MoveView]:
    """The moves that a text names: by token, by label, or by their cells in sequence."""
    for spelling in (_as_typed, _bare):
        wanted = spelling(text)
        found = [
            one
            for one in moves
            if wanted in {spelling(one.id), spelling(one.text), spelling("".join(one.path))}
        ]
        if found:
            return found
    return []


def _as_typed(text: str) -> str:
    return text.strip()


def _bare(text: str) -> str:
    """The text in lower case without the separators that people write between cells."""
    return text.lower().replace(" ", "").replace("-", "").replace("x", "")


def _read_word(text: str, model: Model) -> Action:
    word, _, about = text.partition(" ")
    word = word.lower()
    if word in LONG:
        return Do(LONG[word], about.strip())
    if word in SHORT and word not in move_words(model):
        return Do(SHORT[word], about.strip())
    if word == "chat":
        return Unclear("What do you want to say? For example: chat good luck")
    if model.moves and NOTATION.fullmatch(text):
        return Try(text)
    if model.moves:
        return Unclear(f"{text!r} is neither a move nor a command here. {offer_text(model)}")
    if word in move_words(model):
        return Unclear("It is not your turn.")
    return Unclear(f"{text!r} is no command. Type help for the commands.")


def offer_text(model: Model) -> str:
    """Some of the legal moves, for a player whose line was not understood."""
    some = ", ".join(move.id for move in model.moves[:WORDS_SHOWN])
    more = ", …" if len(model.moves) > WORDS_SHOWN else ""
    return f"Moves: {some}{more}. Type help for the commands."


def move_words(model: Model) -> set[str]:
    """The words that are, or may become, moves in this room; they hide short commands."""
    view = model.description.view if model.description else None
    if view is None:
        return set()
    return {*view.targets, *cell_ids(view.board), *(move.id for move in model.moves)}


#: The short form, the command and its meaning, in the order of the help.
HELP = (
    ("b", Word.BOARD, "show the board"),
    ("m", Word.MOVES, "list your moves"),
    ("l", Word.LAST, "repeat the last move"),
    ("p", Word.PIECES, "name the pieces in words; pieces c: only the cells with a c"),
    ("t", Word.THINKING, "what the AI thinks of each move"),
    ("", Word.RESIGN, "resign the match"),
    ("", Word.ABORT, "end it without a result, before the second move"),
    ("", Word.DRAW, "offer a draw, or accept one"),
    ("", Word.CLAIM, "claim a draw, where the rules allow it"),
    ("", Word.REMATCH, "another match with sides swapped, or accept one"),
    ("", Word.ACCEPT, "accept what the other side offers: a draw or a rematch"),
    ("", Word.DECLINE, "decline it"),
    ("q", Word.QUIT, "leave"),
)


def help_text(model: Model) -> str:
    """The help for all commands, without the short forms that are moves in this room."""
    taken = move_words(model)
    rows = [
        (f"{word.value}, {short}" if short and short not in taken else word.value, what)
        for short, word, what in HELP
    ]
    rows = [("MOVE", _move_help(model)), ("/TEXT, chat TEXT", "say something to the room"), *rows]
    width = max(len(name) for name, _ in rows)
    return "\n".join(f"  {name:<{width}}  {what}" for name, what in rows)


def _move_help(model: Model) -> str:
    example = f", for example {model.moves[0].id}" if model.moves else ""
    return f"play it{example}"
