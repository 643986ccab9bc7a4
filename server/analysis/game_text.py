"""Games as text: tags in brackets, then the moves, as in PGN. Pure.

    [Game "connect-four"]
    [First "Ada"]
    [Second "Ben"]

    1. d1 d2 2. c1 ...

The tags are `Game` (chess without it), `Option` ("size=9", once for each option), `Start` or `FEN`
(the start position), `First` or `White` and `Second` or `Black` (the players' names), and `Result`.
The parser ignores other tags. A move is a token of the game or its notation. The parser skips
numbers, results, annotations such as "!?", comments in braces or after a semicolon, and variations
in parentheses.
"""

import re
from collections.abc import Callable, Mapping

from msgspec import Struct

from engine.game import Game, GameError, GameFault, Position

#: Maximum length of a game's text, in characters.
MAX_TEXT = 200_000
#: The game of a text without the tag `Game`: PGN is for chess.
DEFAULT_GAME = "chess"
_TAG = re.compile(r'^\s*\[(\w+)\s+"((?:[^"\\]|\\.)*)"\]\s*$', re.MULTILINE)
_COMMENT = re.compile(r"\{[^}]*\}|;[^\n]*|\$\d+")
_VARIATION = re.compile(r"\([^()]*\)")
_NUMBER = re.compile(r"^\d+\.+")
#: The results that may end a text, those of points included.
_RESULTS = ("1-0", "0-1", "1/2-1/2", "*", "2-0", "0-2", "1-1")
#: The characters of annotations.
_ANNOTATION = "!?"
#: The characters after a move that notations may leave out: check, mate and annotations.
_DECORATION = "+#!?"


class BadGameText(Exception):
    """The text is not a game that this program can parse; the message says why."""


class ParsedGame(Struct, frozen=True):
    """A game from a text: its start, moves as tokens, positions, and the names of the players."""

    game: Game
    options: Mapping[str, str]
    start: str
    moves: tuple[str, ...]
    positions: tuple[Position, ...]
    names: tuple[str, str]
    result: str


def parse_game(text: str, find_game: Callable[[str], Game]) -> ParsedGame:
    """Parses a game. Raises BadGameText, with the number and the text of a wrong move."""
    if len(text) > MAX_TEXT:
        raise BadGameText(f"the text is longer than {MAX_TEXT} characters")
    tags = _TAG.findall(text)
    values = {name.lower(): value for name, value in tags}
    try:
        game = find_game(values.get("game", DEFAULT_GAME))
        options = game.check_options(dict(_option(v) for name, v in tags if name == "Option"))
        start = values.get("start") or values.get("fen")
        position = game.start(options) if start is None else game.position(start, options)
    except (GameError, GameFault) as error:
        raise BadGameText(str(error)) from error
    positions = [position]
    moves: list[str] = []
    for word in _words(_TAG.sub("", text)):
        token = _token(positions[-1], word)
        if token is None and word in _RESULTS:
            continue
        if token is None:
            raise BadGameText(f"move {len(moves) + 1}, {word[:20]!r}, is not legal")
        moves.append(token)
        positions.append(positions[-1].replay(token))
    if not moves:
        raise BadGameText("the text has no moves")
    names = (
        values.get("first") or values.get("white") or "",
        values.get("second") or values.get("black") or "",
    )
    return ParsedGame(
        game, options, position.text(), tuple(moves), tuple(positions), names,
        values.get("result", ""),
    )  # fmt: skip


def _option(text: str) -> tuple[str, str]:
    name, separator, value = text.partition("=")
    if not separator:
        raise BadGameText(f'an option is written as [Option "size=9"], not {text[:40]!r}')
    return name.strip(), value.strip()


def _words(text: str) -> list[str]:
    """The words that may be moves or results."""
    text = _COMMENT.sub(" ", text)
    while _VARIATION.search(text):
        text = _VARIATION.sub(" ", text)
    words = [_NUMBER.sub("", word) for word in text.split()]
    return [word for word in words if word.strip("." + _ANNOTATION)]


def _token(position: Position, word: str) -> str | None:
    """The token of the legal move that a word denotes; None if it denotes none."""
    for text in (word, word.rstrip(_ANNOTATION)):
        try:
            return position.format_move(position.parse_move(text))
        except GameError:
            pass
    bare = word.rstrip(_DECORATION)
    for move in position.moves():
        if position.notation(move).rstrip(_DECORATION) == bare:
            return position.format_move(move)
    return None
