"""Games as text: tags in brackets, then the moves, as in PGN. Pure.

    [Game "connect-four"]
    [First "Ada"]
    [Second "Ben"]

    1. d1 d2 2. c1 ...

The tags are `Game` (chess without it), `Option` ("size=9", once for each option), `Start` or `FEN`
(the start position), `First` or `White` and `Second` or `Black` (the players' names), and `Result`.
White is the side of that name, in draughts and Othello the second one; where the names are those of
`First` and `Second`, or no side is White, the first number of a result is that of the first side.
The parser ignores most other tags. A move is written as people write it (`engine.notation`). The
parser skips numbers, annotations such as "!?", comments in braces or after a semicolon, lines after
a percent sign, and variations in parentheses. A text of several games is refused.
"""

import re
from collections.abc import Callable, Mapping

from msgspec import Struct

from engine.formats.read.positions import read_position
from engine.game import Game, GameError, GameFault, MalformedMove, Position
from engine.notation import AmbiguousMove, read_move

#: Maximum length of a game's text, in characters.
MAX_TEXT = 200_000
#: The game of a text without the tag `Game`: PGN is for chess.
DEFAULT_GAME = "chess"
#: A tag, what the parser skips, a parenthesis or a word.
TOKEN = re.compile(
    r"""\[\s*(?P<name>[\w-]+)\s+"(?P<value>(?:[^"\\\n]|\\.)*)"\s*\]
    | (?P<comment>\{) [^}]* (?P<closed>\})? | ;[^\n]* | ^%[^\n]* | \$\d+ | \s+
    | (?P<mark>[()]) | (?P<word>[^\s{};()]+)""",
    re.MULTILINE | re.VERBOSE,
)
#: The number of a move, alone or before it: "1.", "12...".
NUMBER = re.compile(r"(\d+)(\.*)(.*)")
#: The seats that win by the results that end a text, those of points included: 0 is the side of the
#: first number; None for a draw. Longer forms are written with other signs.
RESULTS = {
    "1-0": 0, "2-0": 0, "0-1": 1, "0-2": 1, "1/2-1/2": None, "1/2": None, "1-1": None,
}  # fmt: skip
#: Signs of results and numbers, and how the parser reads them.
SIGNS = str.maketrans(
    dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2212", "-") | {"\u2026": "...", "½": "1/2"}
)
#: Words that are no moves: annotations, judgements of the position, and "e.p.".
REMARK = re.compile(
    r"[!?.]+|[+=]/?[-=]|[-=]/?\+|=|\u00b1|\u2213|\u221e|\u2a72|\u2a71|e\.?p\.?", re.IGNORECASE
)
#: The values of the tag `Variant` that are chess.
STANDARD_VARIANTS = ("standard", "chess", "normal", "from position")


class BadGameText(Exception):
    """The text is not a game that this program can parse; the message says why."""


class ParsedGame(Struct, frozen=True):
    """A game from a text: its start, moves as tokens, positions, and the names of the players.

    `winner` is the seat that won by the result in the text, None for a draw. `result` is that
    result, "" where the text has none; `reason` is its words in the tag `Termination`.
    """

    game: Game
    options: Mapping[str, str]
    start: str
    moves: tuple[str, ...]
    positions: tuple[Position, ...]
    names: tuple[str, str]
    result: str
    winner: int | None = None
    reason: str = ""


def parse_game(text: str, find_game: Callable[[str], Game]) -> ParsedGame:
    """Parses a game. Raises BadGameText, with the number and the text of a wrong move."""
    if len(text) > MAX_TEXT:
        raise BadGameText(f"the text is longer than {MAX_TEXT:,} characters")
    tags, words = _tokens(text.removeprefix("\ufeff"))
    values = {name.lower(): value for name, value in tags}
    _check_game_tags(values)
    try:
        game = find_game(values.get("game", DEFAULT_GAME))
        options = game.check_options(dict(_option(v) for name, v in tags if name == "Option"))
        start = values.get("start") or values.get("fen")
        position = (
            game.start(options) if start is None else read_position(game, start, options).position
        )
        white = 1 if game.board(options).seats[1].name == "White" else 0
    except (GameError, GameFault) as error:
        raise BadGameText(str(error)) from error
    moves, positions, ending = _play(position, words)
    if not moves:
        raise BadGameText("the text has no moves" + (": it is empty" if not text.strip() else ""))
    is_by_seat = "first" in values or "second" in values
    seats = (0, 1) if is_by_seat else (white, 1 - white)
    written = values.get("result", "").translate(SIGNS).strip()
    if {written, ending} <= RESULTS.keys() and RESULTS[written] != RESULTS[ending]:
        raise BadGameText(f"the tag Result says {written}, but the moves end with {ending}")
    result = ending if ending in RESULTS else written if written in RESULTS else ""
    result = "1/2-1/2" if result == "1/2" else result
    first = RESULTS.get(result)
    by_seat = (values.get("first"), values.get("second"))
    by_colour = (values.get("white"), values.get("black"))
    return ParsedGame(
        game, options, position.text(), tuple(moves), tuple(positions),
        (by_seat[0] or by_colour[white] or "", by_seat[1] or by_colour[1 - white] or ""),
        result, None if first is None else seats[first], values.get("termination", ""),
    )  # fmt: skip


def _tokens(text: str) -> tuple[list[tuple[str, str]], list[str]]:
    """The tags of a text, and the words outside comments and variations.

    Raises BadGameText for a comment or a variation without an end, and for a second game.
    """
    tags: list[tuple[str, str]] = []
    words: list[str] = []
    depth = 0
    for match in TOKEN.finditer(text):
        line = text.count("\n", 0, match.start()) + 1
        if match["comment"] and not match["closed"]:
            raise BadGameText(f"the comment that begins in line {line} has no end")
        if match["mark"]:
            depth += 1 if match["mark"] == "(" else -1
            if depth < 0:
                raise BadGameText(f"line {line} ends a variation that does not begin")
        elif match["name"] and depth == 0:
            if words:
                raise _several_games(f"tags follow the moves in line {line}")
            tags.append((match["name"], re.sub(r"\\(.)", r"\1", match["value"])))
        elif match["word"] and depth == 0:
            words.append(match["word"].translate(SIGNS))
    if depth:
        raise BadGameText("a variation has no end: a closing parenthesis is missing")
    return tags, words


def _several_games(reason: str) -> BadGameText:
    return BadGameText(f"the text has several games ({reason}): analyse each in a file of its own")


def _check_game_tags(values: Mapping[str, str]) -> None:
    """Refuses the tags of other formats that name a game which the parser would not find."""
    if "game" in values:
        return
    if "gametype" in values:
        raise BadGameText('the tag GameType is not read: name the game, as in [Game "draughts"]')
    variant = values.get("variant", "chess")
    if variant.lower() not in STANDARD_VARIANTS:
        raise BadGameText(f"{variant[:40]} is not chess, and no game that this program plays")


def _option(text: str) -> tuple[str, str]:
    name, separator, value = text.partition("=")
    if not separator:
        raise BadGameText(f'an option is written as [Option "size=9"], not {text[:40]!r}')
    return name.strip(), value.strip()


def _play(position: Position, words: list[str]) -> tuple[list[str], list[Position], str]:
    """The moves and the positions of a game, and the result that ends it, "" where none does."""
    moves: list[str] = []
    positions, ending = [position], ""
    has_letters = any(not word.rstrip(".").isdecimal() for word in words)
    for word in words:
        text = word
        numbered = NUMBER.fullmatch(word)
        if numbered and (numbered[2] or (has_letters and not numbered[3])):
            if int(numbered[1][:9]) == 1 and len(moves) > 1:
                raise _several_games("move 1 comes twice")
            text = numbered[3]
        if not text or REMARK.fullmatch(text):
            continue
        if _is_result(positions[-1], text):
            ending = text
            continue
        if ending:
            raise _several_games(f"{text[:20]} follows the result {ending}")
        moves.append(_token(positions[-1], text, len(moves) + 1))
        positions.append(positions[-1].replay(moves[-1]))
    return moves, positions, ending


def _is_result(position: Position, text: str) -> bool:
    """Whether a text ends the moves; 0-0 does so in a game without castling."""
    if text != "0-0":
        return text in RESULTS or text == "*"
    try:
        read_move(position, text)
    except MalformedMove:
        return True
    except GameError:
        pass
    return False


def _token(position: Position, text: str, number: int) -> str:
    """The token of the move that a text means. Raises BadGameText if it means none."""
    outcome = position.outcome()
    if outcome is not None:
        raise BadGameText(f"the game is over before move {number}, {text[:20]!r}: {outcome.reason}")
    try:
        return read_move(position, text).token
    except AmbiguousMove as error:
        raise BadGameText(f"move {number}, {text[:20]!r}, is not clear: {error}") from error
    except GameError as error:
        raise BadGameText(f"move {number}, {text[:20]!r}, is not legal: {error}") from error
