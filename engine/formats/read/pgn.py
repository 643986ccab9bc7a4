"""Games as PGN and PDN have them, and as files in their manner do. Pure.

    [Game "connect-four"]
    [First "Ada"]
    [Second "Ben"]

    1. d1 d2 2. c1 ...

The tags that say what is played are `Game`, `GameType` (of PDN), `Variant`, `Option` ("size=9",
once for each option), and `Start` or `FEN`. Without them a text is chess, or draughts or Othello
where its first move is one of those. `White` and `Black` name the sides that have these names, in
draughts and Othello the second and the first; `First` and `Second` name the seats. Comments and
variations are kept as comments; clocks and evaluations in comments become those of the moves.

A file is split into games where tags follow moves, after a result, and where move 1 comes again.
A game that is not right is skipped as a whole, with its place and what was expected there.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime

from msgspec import Struct, structs

from engine.formats.read.moves import BadPart, GameIsOver, MoveReader, NullMove
from engine.formats.read.positions import read_position
from engine.formats.read.results import NO_REASONS, RESULTS, SIGNS, over
from engine.formats.read.san import reader_of
from engine.formats.record import BadGame, FindGame, GameRecord, Move, Seat
from engine.game import Game, GameError, MalformedMove, Position
from engine.text_files import Line, read_lines
from engine.typed_moves import read_move

#: Maximum length of a game with its comments, in characters.
MAX_GAME = 1 << 20
#: The bad games of a file after which reading ends.
MAX_BAD = 1000
#: How far before a number a blank line is looked for, in characters.
MAX_GAP = 200
#: The most numeric annotations of a move that are kept, and the greatest (10 of the standard).
MAX_NAGS, MAX_NAG = 16, 255
#: The game of a text that does not say it: PGN is for chess.
DEFAULT_GAME = "chess"
#: The games of PDN's tag GameType, and names of the others that it numbers.
GAME_TYPES = {"0": "chess", "20": "international-draughts", "21": "draughts", "50": "othello"}
OTHER_TYPES = {
    "1": "Chinese chess", "22": "Italian draughts", "23": "pool checkers", "24": "Spanish draughts",
    "25": "Russian draughts", "26": "Brazilian draughts", "27": "Canadian draughts",
    "28": "Portuguese draughts", "29": "Czech draughts", "30": "Turkish draughts",
    "31": "Thai draughts", "40": "Frisian draughts", "41": "Spantsiretti draughts",
}  # fmt: skip
#: The values of the tag `Variant` that name no other rules.
STANDARD_VARIANTS = (
    "standard", "chess", "normal", "from position", "international", "english", "checkers",
)  # fmt: skip
#: Tags that a record has in fields of their own.
OWN_TAGS = {
    "game", "option", "start", "fen", "setup", "white", "black", "first", "second", "result",
    "gametype", "variant", "match", "rules",
}  # fmt: skip
#: Values of tags that say that something is not known.
UNKNOWN = ("", "?", "????.??.??")

TAG_LINE = re.compile(r'\s*\[\s*([A-Za-z][\w-]*)\s+".*"\s*\]\s*')
TAG_BEGIN = re.compile(r"\s*\[\s*[A-Za-z]")
#: The end of a game's last line.
RESULT_END = re.compile(r"(?:^|\s)(?:[012]-[012]|1/2(?:-1/2)?|\*)\s*$")
OPENING = re.compile(r"[{;]")
BLANK_LINE = re.compile(r"\n[^\S\n]*\n")
TOKEN = re.compile(
    r"""
      (?P<tag> \[\s*(?P<name>[A-Za-z][\w-]*)\s+"(?P<value>(?:[^"\\\n]|\\.)*)"\s*\]
             | ^\s*\[\s*(?P<odd_name>[A-Za-z][\w-]*)\s+"(?P<odd_value>[^\n]*)"\s*\][^\S\n]*$ )
    | (?P<comment> \{[^}]*\}? )
    | (?P<line> ;[^\n]* | ^%[^\n]* )
    | (?P<nag> \$\d+ )
    | (?P<open> \( )
    | (?P<close> \) )
    | (?P<number> \d+(?:\.|\u2026)+ )
    | (?P<word> [^\s{}();\[\]$]+ )
    | (?P<other> \S )
    """,
    re.MULTILINE | re.VERBOSE,
)
#: Annotations after a move, and those that stand alone, as numbers of PGN; None means nothing.
STRENGTH = re.compile(r"(?<=[^!?*])[!?*]+$")
#: The mark of a forced move in draughts; alone it is the end of a game.
FORCED, FORCED_NAG = "*", 7
NAGS: dict[str, int | None] = {
    "!": 1, "?": 2, "!!": 3, "??": 4, "!?": 5, "?!": 6, "□": 7, "=": 10, "∞": 13, "+=": 14, "⩲": 14,
    "+/=": 14, "=+": 15, "=/+": 15, "⩱": 15, "+/-": 16, "±": 16, "-/+": 17, "∓": 17,
    "+-": 18, "-+": 19, "⊙": 22, "N": 146, "D": None, "+": None, "++": None, "#": None,
    "e.p.": None, "ep": None, "e.p": None, "ch": None, "mate": None, "(=)": None,
}  # fmt: skip
#: A command in a comment: [%clk 0:01:30].
COMMAND = re.compile(r"\[%(\w{1,20})\s+([^\[\]]{0,200})\]")
TIME = re.compile(r"(?:(\d{1,4}):)?(\d{1,4}):(\d{1,2}(?:\.\d{1,6})?)")
EVAL = re.compile(r"(?:[+-]?\d{1,5}(?:\.\d{1,4})?|#[+-]?\d{1,4})(?:,\d{1,3})?")
#: Both clocks, as lidraughts writes them; a capital letter says whose clock runs.
BOTH_CLOCKS = re.compile(r"([wb])([\d:.]+)\s+([wb])([\d:.]+)", re.IGNORECASE)
#: The first move of draughts, and a word of a transcript of Othello.
DRAUGHTS_MOVE = re.compile(r"\d{1,2}(?:[-x:]\d{1,2})+")
TRANSCRIPT = re.compile(r"(?:f5|c4|d3|e6)(?:[a-h][1-8]|pa|ps|--)+", re.IGNORECASE)
SCORED = re.compile(r"(\s*[1-9a-hA-H]+)\s+([+-]?\d+(?:[-:/]\d+)?)\s*")
DIGITS = re.compile(r"[1-7]{2,}")


class Section(Struct, frozen=True):
    """Lines of a file that hold whole games, usually one; or `fault`, what is wrong with them."""

    line: int
    text: str
    fault: BadGame | None = None


def parse_pgn(chunks: Iterable[bytes], find_game: FindGame) -> Iterator[GameRecord | BadGame]:
    """Yields the games of a file, given in parts of any size, in their order.

    At most one game is in memory. Raises only GameFault, or what `find_game` raises, for a broken
    rules file.
    """
    return _games(_sections(read_lines(chunks)), find_game)


def parse_transcripts(
    chunks: Iterable[bytes], find_game: FindGame
) -> Iterator[GameRecord | BadGame]:
    """Yields the games of a file that has one in each line, in their order: a transcript of Othello
    (`f5d6c3`) or the columns of Connect Four (`4453`). What stands after the moves is a comment.
    """
    return _games(map(_transcript, read_lines(chunks)), find_game)


def _transcript(line: Line) -> Section:
    """The section of a line."""
    if line.fault:
        return Section(line.number, "", _fault(line, line.fault))
    if line.text.startswith(("#", "%")):
        return Section(line.number, "")
    # A file of positions to solve has the score of each after its moves.
    scored = SCORED.fullmatch(line.text)
    return Section(line.number, f"{scored[1]} {{{scored[2]}}}" if scored else line.text)


def _games(sections: Iterable[Section], find_game: FindGame) -> Iterator[GameRecord | BadGame]:
    """Yields the games of sections."""
    number = bad = 0
    starts: dict[str, Position] = {}  # without options, by the id of the game
    for section in sections:
        for game in _Section(section, find_game, starts).games():
            number += 1
            if not isinstance(game, BadGame):
                yield game
                continue
            yield structs.replace(game, number=number)
            bad += 1
            if bad == MAX_BAD:
                expected = f"a file with fewer than {MAX_BAD:,} bad games; the rest is not read"
                yield BadGame(number + 1, game.line, game.column, game.found, expected)
                return


# --- a file's sections


def _sections(lines: Iterable[Line]) -> Iterator[Section]:
    """Yields the sections of a file: each begins with tags, or after a result and a blank line."""
    held: list[str] = []
    first = size = 0
    has_moves = is_comment = is_skipping = False
    before = ""  # the line before
    for line in lines:
        text = line.text
        is_blank = not text or text.isspace()
        is_tag = TAG_BEGIN.match(text) is not None
        is_new = (
            (has_moves and not is_comment and is_tag)
            # A comment that nobody closed must not swallow the games after it.
            or (is_comment and not before and is_tag and text.lstrip().startswith("[Event "))
            or (
                has_moves and not is_comment and not before and not is_blank
                and text[0] not in "{(;%" and _ends_with_result(held)
            )
        )  # fmt: skip
        if is_skipping and is_tag and not before and not line.fault:
            is_skipping = False
        elif is_new and not is_skipping:
            yield Section(first, "\n".join(held))
            held, size, has_moves, is_comment = [], 0, False, False
        before = "" if is_blank else text
        if is_skipping:
            continue
        size += len(text) + 1
        fault = line.fault or (f"a game of at most {MAX_GAME:,} characters" * (size > MAX_GAME))
        if fault:
            yield Section(line.number, "", _fault(line, fault))
            held, size, has_moves, is_comment, is_skipping = [], 0, False, False, True
            continue
        if not held:
            if is_blank:
                size = 0
                continue
            first = line.number
        held.append(text)
        if not is_blank and not (text.startswith("%") and not is_comment):
            is_plain_tag = is_tag and not is_comment and TAG_LINE.fullmatch(text) is not None
            has_moves = has_moves or not is_tag
            if not is_plain_tag:
                is_comment = _is_open_after(text, is_comment)
    if held and not is_skipping:
        yield Section(first, "\n".join(held))


def _fault(line: Line, expected: str) -> BadGame:
    column = len(line.text) + 1
    if expected == "text":
        column = next(
            (i for i, c in enumerate(line.text, 1) if not c.isprintable() and c != "\t"), 1
        )
        return BadGame(0, line.number, column, line.text[column - 1 : column], "text")
    return BadGame(0, line.number, column, line.text[:20], expected)


def _ends_with_result(held: list[str]) -> bool:
    last = next((text for text in reversed(held) if text and not text.isspace()), "")
    return RESULT_END.search(last.translate(SIGNS)) is not None


def _is_open_after(text: str, is_open: bool) -> bool:
    """Whether a comment in braces is open at the end of a line."""
    at = 0
    while True:
        if is_open:
            at = text.find("}", at) + 1
            if at == 0:
                return True
            is_open = False
        opening = OPENING.search(text, at)
        if opening is None or opening[0] == ";":
            return False
        is_open, at = True, opening.end()


# --- the games of a section


class _Bad(Exception):
    """A game is not right at an offset of its section."""

    def __init__(self, offset: int, found: str, expected: str) -> None:
        super().__init__(expected)
        self.offset, self.found, self.expected = offset, found, expected


class _Section:
    """The games of a section, read from its tokens in order."""

    def __init__(self, section: Section, find_game: FindGame, starts: dict[str, Position]) -> None:
        self._section = section
        self._find_game = find_game
        self._starts = starts
        self._game = self._new_game()

    def games(self) -> Iterator[GameRecord | BadGame]:
        """Yields the games, with the number 0 if they are bad."""
        if self._section.fault is not None:
            yield self._section.fault
            return
        text = self._section.text
        depth = opened = 0
        for token in TOKEN.finditer(text):
            kind, offset = token.lastgroup, token.start()
            if depth:
                depth += (kind == "open") - (kind == "close")
                if not depth:
                    self._game.variation(text[opened : token.end()])
            elif kind == "word":
                word = token[0]
                if self._game.read_plain(word):
                    continue
                if self._game.is_next(word):
                    yield from self._finish()
                self._try(self._game.word, word, offset)
            elif kind == "number":
                if self._game.begins_again(token[0], text, offset):
                    yield from self._finish()
                self._game.has_words = True
            elif kind == "comment":
                if not text.endswith("}", offset, token.end()) or token.end() - offset < 2:
                    self._try(self._game.fail, token[0], offset, "a comment that ends with }")
                else:
                    self._game.comment(token[0][1:-1])
            elif kind == "nag":
                self._game.nag(int(token[0][1:6]))
            elif kind == "tag":
                if self._game.has_words:
                    yield from self._finish()
                value = re.sub(r"\\(.)", r"\1", token["value"] or token["odd_value"] or "")
                self._game.tag(token["name"] or token["odd_name"], value, offset)
            elif kind == "open":
                depth, opened = 1, offset
            elif kind == "line":
                if token[0][0] == ";":
                    self._game.comment(token[0][1:])
            else:
                expected = "a move" if token[0] == ")" else 'a move, or a tag like [White "Ann"]'
                self._try(self._game.fail, token[0], offset, expected)
        if depth:
            self._try(self._game.fail, text[opened:], opened, "a variation that ends with )")
        yield from self._finish()

    def _try(self, step: Callable[..., None], word: str, offset: int, *more: str) -> None:
        """Takes a step of the game; a game that is bad takes no more."""
        game = self._game
        if game.bad is not None:
            game.skip(word)
            return
        try:
            step(word, offset, *more)
        except _Bad as bad:
            game.bad = bad

    def _new_game(self) -> "_Draft":
        return _Draft(self._section.text, self._find_game, self._starts)

    def _finish(self) -> Iterator[GameRecord | BadGame]:
        """Yields the game so far, if there is one, and begins another."""
        game, self._game = self._game, self._new_game()
        if not game.has_words and not game.has_tags:
            return
        try:
            if game.bad is not None:
                raise game.bad
            yield game.record()
        except _Bad as bad:
            text = self._section.text
            line = self._section.line + text.count("\n", 0, bad.offset)
            column = bad.offset - text.rfind("\n", 0, bad.offset)
            found = " ".join(bad.found[:41].split())
            shown = found if len(found) <= 40 else found[:39] + "…"
            yield BadGame(0, line, column, shown, bad.expected)


class _Draft:
    """A game while it is read."""

    def __init__(self, text: str, find_game: FindGame, starts: dict[str, Position]) -> None:
        self._text = text
        self._find_game = find_game
        self._starts = starts
        self._tags: dict[str, tuple[str, str, int]] = {}  # by the name in small letters
        self._options: list[tuple[str, int]] = []
        self._reader: MoveReader | None = None
        self._mended: tuple[str, ...] = ()
        #: The comments after so many moves, and the annotations by ply.
        self._comments: dict[int, list[str]] = {}
        self._nags: dict[int, list[int]] = {}
        self._ending = ""
        self._ending_offset = 0
        self._first_number: int | None = None
        self._has_letters: bool | None = None
        self.has_words = False
        self.bad: _Bad | None = None

    # --- tokens

    @property
    def has_tags(self) -> bool:
        return bool(self._tags)

    def tag(self, name: str, value: str, offset: int) -> None:
        """Takes a tag. The last of one name counts."""
        if name.lower() == "option":
            self._options.append((value, offset))
        self._tags[name.lower()] = (name, value, offset)

    def read_plain(self, word: str) -> bool:
        """Takes a move that the reader of moves can read at once; False for any other word."""
        reader = self._reader
        return (
            reader is not None and not self._ending and self.bad is None and reader.read_plain(word)
        )

    def is_next(self, word: str) -> bool:
        """Whether a word belongs to another game, because this one has its result."""
        return self._ending != "" and not _is_result(word)

    def begins_again(self, number: str, text: str, offset: int) -> bool:
        """Whether the number of a move begins another game: after a result, or where move 1 comes
        again.
        """
        if self._ending:
            return True
        if self._reader is None or number != "1.":
            return False
        plies = len(self._reader.moves) if self.bad is None else 2
        gap = text[max(0, offset - MAX_GAP) : offset]
        is_apart = BLANK_LINE.search(gap, len(gap.rstrip())) is not None
        return plies > 1 or (plies == 1 and is_apart)

    def skip(self, word: str) -> None:
        """Skips a word of a bad game, which ends with a result."""
        if _is_result(word):
            self._ending = word

    def fail(self, word: str, offset: int, expected: str) -> None:
        """Says that something is not right."""
        self.has_words = True
        raise _Bad(offset, word, expected)

    def word(self, word: str, offset: int) -> None:
        """Takes a move, a number, a result or an annotation. Raises _Bad for anything else."""
        self.has_words = True
        if not word.isascii():
            word = word.translate(SIGNS)
        if word.isdecimal() and self._is_number(word, offset):
            return
        word = word.lstrip(".")
        if not word:
            return
        if word in NAGS and not (word in "+-#" and self._reader is None):
            if (nag := NAGS[word]) is not None:
                self.nag(nag)
            return
        if _is_result(word) and not (word == "0-0" and self._is_castling(word, offset)):
            if not self._ending:
                self._ending, self._ending_offset = word, offset
            return
        strength = None
        if word[-1] in "!?*" and (found := STRENGTH.search(word)):
            strength, word = found[0], word[: found.start()]
        self._move(word, offset)
        nag = FORCED_NAG if strength == FORCED else NAGS.get(strength or "")
        if nag is not None:
            self.nag(nag)

    def comment(self, text: str) -> None:
        """Takes a comment: clocks and evaluations for the last move, and words."""
        if self.bad is not None:
            return
        if "[%" in text:
            text = COMMAND.sub(self._command, text)
        self._say(" ".join(text.split()))

    def variation(self, text: str) -> None:
        """Takes a variation, with its parentheses: a comment, or the strength of a move."""
        if (nag := NAGS.get(text[1:-1])) is not None:
            self.nag(nag)
        elif text not in NAGS and self.bad is None:
            self._say(" ".join(text.split()))

    def nag(self, number: int) -> None:
        """Takes a numeric annotation of the last move."""
        is_one = 0 < number <= MAX_NAG and self.bad is None
        if is_one and self._reader is not None and self._reader.moves:
            nags = self._nags.setdefault(len(self._reader.moves) - 1, [])
            if len(nags) < MAX_NAGS:
                nags.append(number)

    # --- moves

    def _move(self, word: str, offset: int) -> None:
        if self._reader is None:
            self._begin(word, offset)
        reader = self._reader
        assert reader is not None
        try:
            reader.read(word)
        except NullMove as error:
            raise _Bad(offset, word, f"a move ({error})") from error
        except GameIsOver as error:
            raise _Bad(offset, word, f"the end of the game ({error})") from error
        except BadPart as error:
            raise _Bad(offset, word, f"legal moves ({error})") from error
        except GameError as error:
            side = _side_names(reader.start)[reader.turn]
            is_named = reader.moves or self._tags.keys() & {"game", "gametype"}
            hint = "" if is_named else f"; without the tag Game the text is {reader.start.game.id}"
            raise _Bad(offset, word, f"a legal move of {side} ({error}{hint})") from error

    def _is_number(self, word: str, offset: int) -> bool:
        """Whether a number without dots is that of a move: the expected one, and no legal move."""
        if self._has_letters is None:
            self._has_letters = self._finds_letters(offset)
        if not self._has_letters:
            return False
        number, plies = int(word[:9]), 0
        if self._reader is not None:
            plies = len(self._reader.moves)
            if word in self._reader.position.tokens():
                return False
        if self._first_number is None and plies == 0:
            self._first_number = number
            return len(word) < 4
        first = self._first_number or 1
        return number in (first + plies // 2, first + plies, first + (plies + 1) // 2)

    def _finds_letters(self, offset: int) -> bool:
        """Whether a word of the game has more than digits: then its moves are no numbers."""
        for token in TOKEN.finditer(self._text, offset):
            if token.lastgroup == "tag" or (token.lastgroup == "word" and _is_result(token[0])):
                return False
            if token.lastgroup == "word" and not token[0].isdecimal():
                return True
        return False

    def _is_castling(self, word: str, offset: int) -> bool:
        """Whether 0-0 is castling, and not a result in which both lose."""
        if self._reader is None:
            self._begin(word, offset)
        assert self._reader is not None
        try:
            read_move(self._reader.position, word)
        except MalformedMove:
            return False
        except GameError:
            return self._value("result").translate(SIGNS) != "0-0"
        return True

    # --- what is played

    def _value(self, *names: str) -> str:
        return next((self._tags[name][1] for name in names if name in self._tags), "")

    def _begin(self, word: str, offset: int) -> None:
        """Finds the game and its start position, at the first move. Raises _Bad."""
        problem: _Bad | None = None
        candidates = self._candidates(word, offset)
        for game_id in candidates:
            try:
                reader = reader_of(self._start(game_id, offset))
            except _Bad as bad:
                problem = problem or bad
                continue
            self._reader = self._reader or reader
            if len(candidates) == 1 or _reads(reader, word):
                self._reader = reader
                return
        if self._reader is None:
            assert problem is not None, "there is a candidate"
            raise problem

    def _candidates(self, word: str, offset: int) -> tuple[str, ...]:
        """The games that the text may be of. Raises _Bad for one that is not played here."""
        if "game" in self._tags:
            return (self._value("game"),)
        variant = self._value("variant")
        if variant and variant.lower() not in STANDARD_VARIANTS:
            expected = "a game that is played here: chess, or one that the tag Game names"
            raise _Bad(self._tags["variant"][2], variant, expected)
        if "gametype" in self._tags:
            kind = self._value("gametype").split(",")[0].strip().lstrip("0") or "0"
            if kind not in GAME_TYPES:
                known = ", ".join(f"{key} ({name})" for key, name in GAME_TYPES.items())
                named = f"; it is {OTHER_TYPES[kind]}" * (kind in OTHER_TYPES)
                raise _Bad(
                    self._tags["gametype"][2], self._value("gametype"), f"one of {known}{named}"
                )
            return (GAME_TYPES[kind],)
        if DRAUGHTS_MOVE.match(word) or re.match(r"[WB?]:", self._value("fen"), re.IGNORECASE):
            return ("draughts", "international-draughts")
        if TRANSCRIPT.fullmatch(word):
            return ("othello", DEFAULT_GAME)
        if DIGITS.fullmatch(word):
            return ("connect-four", DEFAULT_GAME)
        return (DEFAULT_GAME,)

    def _start(self, game_id: str, offset: int) -> Position:
        """The start position in a game. Raises _Bad with the tag that is wrong."""
        at = self._tags["game"][2] if "game" in self._tags else offset
        found = game_id
        try:
            if not self._tags.keys() & {"option", "start", "fen"} and game_id in self._starts:
                return self._starts[game_id]
            game = self._find_game(game_id)
            options = {}
            for found, at in self._options:
                name, separator, value = found.partition("=")
                if not separator:
                    raise _Bad(at, found, 'an option like [Option "size=9"]')
                options[name.strip()] = value.strip()
            options = game.check_options(options)
            for name in ("start", "fen"):
                if name in self._tags:
                    _, found, at = self._tags[name]
                    reading = read_position(game, found, options)
                    self._mended = reading.mended
                    return reading.position
            start = game.start(options)
            if not self._options:
                self._starts[game_id] = start
            return start
        except GameError as error:
            raise _Bad(at, found, f"a game that is played here ({error})") from error

    # --- the record

    def record(self) -> GameRecord:
        """The game. Raises _Bad if its tags or its result are wrong."""
        if self._reader is None:
            self._begin("", 0)
        reader = self._reader
        assert reader is not None
        position, game = reader.start, reader.start.game
        white = next((i for i, name in enumerate(_side_names(position)) if name == "White"), 0)
        is_by_seat = "first" in self._tags or "second" in self._tags
        result, reason = self._result(), self._value("termination")
        started_ms = self._started_ms()
        ending = over((0, 1) if is_by_seat else (white, 1 - white), result, reason)
        names = [self._value("first"), self._value("second")]
        names[white] = names[white] or self._value("white")
        names[1 - white] = names[1 - white] or self._value("black")
        extra: dict[str, object] = {}
        if reader.played_on is not None:
            plies, why = reader.played_on.plies, reader.played_on.reason
            extra["played_on"] = {"plies": plies, "reason": why}
        if self._mended:
            extra["mended"] = list(self._mended)
        return GameRecord(
            match=self._value("match"), game=game.id, options=dict(position.options),
            rules=self._value("rules"), start=position.text(),
            seats=tuple(Seat("" if name == "?" else name) for name in names),
            moves=tuple(self._annotated(reader.moves)), over=reader.over(ending),
            started_ms=started_ms, tags=self._other_tags(started_ms is not None),
            comment="\n".join(self._comments.get(0, ())), extra=extra,
        )  # fmt: skip

    def _annotated(self, moves: list[Move]) -> Iterator[Move]:
        """Yields the moves with their comments and annotations."""
        for ply, move in enumerate(moves):
            comments, nags = self._comments.get(ply + 1), self._nags.get(ply)
            if comments is not None or nags is not None:
                text = "\n".join(comments or ())
                yield structs.replace(move, comment=text, nags=tuple(nags or ()))
            else:
                yield move

    def _result(self) -> str:
        """The result after the moves, or else that of the tag; "" for none."""
        written = self._value("result").translate(SIGNS).strip()
        ending = self._ending.translate(SIGNS)
        if {written, ending} <= RESULTS.keys() and RESULTS[written] != RESULTS[ending]:
            expected = f"the result of the tag Result, {written}"
            raise _Bad(self._ending_offset, ending, expected)
        return ending if ending in RESULTS else written if written in RESULTS else ""

    def _started_ms(self) -> int | None:
        """The time at which the game began, where the file has it in UTC and to the second."""
        text = f"{self._value('utcdate')} {self._value('utctime')}"
        try:
            time = datetime.strptime(text, "%Y.%m.%d %H:%M:%S").replace(tzinfo=UTC)
        except ValueError:
            return None
        return round(time.timestamp() * 1000)

    def _other_tags(self, has_start: bool) -> dict[str, str]:
        """The tags that the record has in no field; the UTC date says the start of the game."""
        own = OWN_TAGS | {"utcdate", "utctime"} if has_start else OWN_TAGS
        is_same_day = has_start and self._value("date") == self._value("utcdate")
        has_end = self._result() != ""
        return {
            name: value
            for key, (name, value, _) in self._tags.items()
            if key not in own
            and value not in UNKNOWN
            and not (key == "date" and is_same_day)
            and not (key == "termination" and (has_end or value.lower() in NO_REASONS))
        }

    # --- comments

    def _say(self, text: str) -> None:
        if text:
            plies = 0 if self._reader is None else len(self._reader.moves)
            self._comments.setdefault(plies, []).append(text)

    def _command(self, command: re.Match[str]) -> str:
        """Takes what a command in a comment says about the last move; returns any other."""
        name, value = command[1], command[2].strip()
        if self._reader is None or not self._reader.moves:
            return command[0]
        change: dict[str, object] = {}
        if name == "clk":
            change["clock_ms"] = _milliseconds(value)
        elif name == "emt":
            change["spent_ms"] = _milliseconds(value)
        elif name == "eval" and EVAL.fullmatch(value):
            change["eval"] = value.replace("+", "")
        elif name == "clock" and (clocks := BOTH_CLOCKS.fullmatch(value)):
            side = _side_names(self._reader.start)[self._reader.turns[-1]][0].lower()
            shown = {clocks[1].lower(): clocks[2], clocks[3].lower(): clocks[4]}
            change["clock_ms"] = _milliseconds(shown.get(side, ""))
        if not change or None in change.values():
            return command[0]
        self._reader.moves[-1] = structs.replace(self._reader.moves[-1], **change)
        return " "


def _is_result(word: str) -> bool:
    return (
        word in RESULTS or word == "*" or (not word.isascii() and word.translate(SIGNS) in RESULTS)
    )


def _side_names(position: Position) -> list[str]:
    game: Game = position.game
    return [seat.name for seat in game.board(position.options).seats]


def _reads(reader: MoveReader, word: str) -> bool:
    """Whether a word is a legal move at the start of a game."""
    try:
        read_move(reader.start, word)
    except GameError:
        return False
    return True


def _milliseconds(text: str) -> int | None:
    """The time of a clock, 0:01:30 or 1:30; None if it is none."""
    time = TIME.fullmatch(text)
    if time is None:
        return None
    return round((int(time[1] or 0) * 3600 + int(time[2]) * 60 + float(time[3])) * 1000)
