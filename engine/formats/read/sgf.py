"""Games as SGF has them (red-bean.com/sgf, FF[4]): gomoku, Othello and Hex. Pure.

The main line is read; variations are kept as comments. The player whose moves come first sits on
the first seat: in our games that is the side that begins, whatever its colour is elsewhere. Cells
are letters from the top left (`hh`), or as we write them (`e4`, as Hex has them). A file without
`GM` is of the game that its event names, and `PB` began, as on Little Golem; the standard says Go.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from itertools import chain

from msgspec import Struct, structs

from engine.formats.read.moves import GameIsOver, MoveReader
from engine.formats.read.results import over
from engine.formats.read.san import reader_of
from engine.formats.record import BadGame, FindGame, GameRecord, Move, Over, Seat
from engine.game import Game, GameError, Position
from engine.text_files import read_lines
from engine.view import Grid

#: Maximum length of a game with its variations, in characters.
MAX_GAME = 1 << 20
#: The bad games of a file after which reading ends.
MAX_BAD = 1000
#: The games by their number in SGF, and names of others.
GAMES = {"2": "othello", "4": "gomoku", "11": "hex"}
OTHER_GAMES = {
    "1": "Go", "3": "chess, which SGF has no moves for", "5": "nine men's morris, which SGF has no "
    "moves for", "6": "backgammon", "7": "Chinese chess", "8": "Shogi", "9": "Lines of Action",
}  # fmt: skip
#: Properties of the game and the tags of PGN that say the same.
TAGS = {
    "EV": "Event", "PC": "Site", "DT": "Date", "RO": "Round", "AN": "Annotator", "ON": "Opening",
    "SO": "Source", "TM": "TimeControl", "BR": "BlackElo", "WR": "WhiteElo",
    "GN": "GameName", "BT": "BlackTeam", "WT": "WhiteTeam", "CP": "Copyright", "US": "Transcriber",
}  # fmt: skip
#: Judgements of a move, as numeric annotations of PGN.
NAGS = {"TE": 1, "BM": 2, "IT": 5, "DO": 6}
#: The ways to win in a result, and the words of the server's logs.
WAYS = {
    "R": ("resign", "resignation"), "RESIGN": ("resign", "resignation"),
    "T": ("flag", "time"), "TIME": ("flag", "time"),
    "F": ("gone", "forfeit"), "FORFEIT": ("gone", "forfeit"),
}  # fmt: skip
NODE = re.compile(r"\s*(?:;|\Z)")
STRUCTURE = re.compile(r"[()\[\]\\]")
TOKEN = re.compile(
    r"(?P<node>;)|(?P<open>\()|(?P<close>\))"
    r"|(?P<property>(?P<name>[A-Za-z]++)\s*(?P<values>(?:\[[^\]\\]*+(?:\\.[^\]\\]*+)*+\]\s*)+))"
    r"|(?P<other>[A-Za-z]+|\S)",
    re.DOTALL,
)
VALUE = re.compile(r"\[((?:[^\]\\]|\\.)*)\]", re.DOTALL)
RESULT = re.compile(r"([BW])\+(.*)", re.IGNORECASE)
#: Overtime as servers of Go write it.
OVERTIME = re.compile(
    r"(?P<gain>\d{1,5}) fischer|(?P<periods>\d{1,4}[x/]\d{1,5})(?: byo-yomi| canadian)?",
    re.IGNORECASE | re.ASCII,
)
SWAP = ("swap", "swap-pieces")
#: A clock in seconds.
SECONDS = re.compile(r"-?\d{1,7}(?:\.\d{1,6})?")


class Tree(Struct, frozen=True):
    """The text of one game, from the column of its parenthesis on; or what is wrong with it."""

    line: int
    text: str
    fault: BadGame | None = None


class Property(Struct, frozen=True):
    """A property of a node with its values, and its offset in the tree."""

    name: str
    values: tuple[str, ...]
    offset: int


class Variation(Struct, frozen=True):
    """The text of a variation, and the number of nodes of the main line before it."""

    text: str
    nodes: int


class BadTree(Exception):
    """A game is not right at an offset of its tree."""

    def __init__(self, offset: int, found: str, expected: str) -> None:
        super().__init__(expected)
        self.offset, self.found, self.expected = offset, found, expected


def parse_sgf(chunks: Iterable[bytes], find_game: FindGame) -> Iterator[GameRecord | BadGame]:
    """Yields the games of a collection, given in parts of any size, in their order.

    At most one game is in memory. Raises only GameFault, or what `find_game` raises, for a broken
    rules file.
    """
    return read_trees(chunks, lambda text: _record(text, find_game))


def read_trees(
    chunks: Iterable[bytes], read: Callable[[str], GameRecord]
) -> Iterator[GameRecord | BadGame]:
    """Yields what `read` makes of each tree, or where its BadTree stands."""
    bad = 0
    for number, tree in enumerate(_trees(chunks), 1):
        try:
            if tree.fault is None:
                yield read(tree.text)
                continue
            game = structs.replace(tree.fault, number=number)
        except BadTree as error:
            line = tree.line + tree.text.count("\n", 0, error.offset)
            column = error.offset - tree.text.rfind("\n", 0, error.offset)
            game = BadGame(number, line, column, _shown(error.found), error.expected)
        yield game
        bad += 1
        if bad == MAX_BAD:
            expected = f"a file with fewer than {MAX_BAD:,} bad games; the rest is not read"
            yield structs.replace(game, number=number + 1, expected=expected)
            return


def _shown(found: str) -> str:
    words = " ".join(found[:41].split())
    return words if len(words) <= 40 else words[:39] + "…"


# --- a file's trees


def _trees(chunks: Iterable[bytes]) -> Iterator[Tree]:
    """Yields the trees of a file. Text between them is skipped, as the standard says."""
    held: list[str] = []
    first = size = depth = 0
    is_value = is_skipping = False
    for line in read_lines(chunks):
        text, begin, at = line.text + "\n", 0, 0
        indent = len(text) - len(text.lstrip())
        if line.fault and (depth or line.fault != "text"):
            yield Tree(line.number, "", _fault(line.number, line.text, line.fault))
            held, size, depth, is_value, is_skipping = [], 0, 0, False, True
            continue
        while found := STRUCTURE.search(text, at):
            at = found.end()
            if is_value:
                at += found[0] == "\\"
                is_value = found[0] != "]"
            elif found[0] == "[":
                is_value = depth > 0
            elif found[0] == "(":
                # A tree begins with a node; after a fault only at the beginning of a line.
                if not depth:
                    if not NODE.match(text, at) or (is_skipping and at - 1 > indent):
                        continue
                    held, first, begin, is_skipping = [" " * (at - 1)], line.number, at - 1, False
                depth += 1
            elif found[0] == ")" and depth:
                depth -= 1
                if not depth:
                    yield Tree(first, "".join((*held, text[begin:at])))
                    held, size = [], 0
        if depth:
            held.append(text[begin:])
            size += len(text) - begin
            if size > MAX_GAME:
                fault = f"a game of at most {MAX_GAME:,} characters"
                yield Tree(line.number, "", _fault(line.number, line.text, fault))
                held, size, depth, is_value, is_skipping = [], 0, 0, False, True
    if depth:
        tree = "".join(held).rstrip()
        yield Tree(
            first, "", _fault(first + tree.count("\n"), tree.rpartition("\n")[2], ") at its end")
        )


def _fault(line: int, text: str, expected: str) -> BadGame:
    if expected == "text":
        column = next((i for i, c in enumerate(text, 1) if not c.isprintable() and c != "\t"), 1)
        return BadGame(0, line, column, text[column - 1 : column], "text")
    return BadGame(0, line, len(text) + 1, _shown(text[-20:]), expected)


# --- a tree's properties


def main_line(text: str) -> Iterator[Property | Variation]:
    """Yields the properties of the main line in order, and the variations after it. A node begins
    with a property named ";". Raises BadTree.
    """
    depth = nodes = variation = variation_offset = 0
    has_branched: list[bool] = [False]
    begun: list[int] = [0]  # the nodes before each open subtree
    for token in TOKEN.finditer(text):
        kind = token.lastgroup
        if kind == "open":
            depth += 1
            if variation:
                continue
            if has_branched[-1]:
                variation, variation_offset = depth, token.start()
            else:
                has_branched.append(False)
                begun.append(nodes)
        elif kind == "close":
            if not variation:
                has_branched.pop()
                has_branched[-1] = True
                nodes = begun.pop()
            elif depth == variation:
                variation_text = " ".join(text[variation_offset : token.end()].split())
                yield Variation(variation_text, nodes)
                variation = 0
            depth -= 1
        elif variation:
            continue
        elif has_branched[-1]:
            raise BadTree(token.start(), token[0], "a variation or ), after the end of one")
        elif kind == "node":
            nodes += 1
            yield Property(";", (), token.start())
        elif kind == "property":
            values = tuple(
                re.sub(r"\\(\n|.)", lambda escaped: escaped[1].strip("\n"), value, flags=re.DOTALL)
                for value in VALUE.findall(token["values"])
            )
            name = "".join(letter for letter in token["name"] if letter.isupper())
            yield Property(name or token["name"].upper(), values, token.start())
        else:
            raise BadTree(token.start(), token[0], "a property like B[hh]")


def _record(text: str, find_game: FindGame) -> GameRecord:
    """The game of a tree. Raises BadTree."""
    root: dict[str, Property] = {}
    line = iter(main_line(text))
    nodes = 0
    rest: list[Property | Variation] = []
    for item in line:
        if isinstance(item, Property) and item.name == ";":
            nodes += 1
        if isinstance(item, Variation) or nodes > 1 or item.name in ("B", "W"):
            rest.append(item)
            break
        root.setdefault(item.name, item)
    return _Game(root, _start(root, find_game)).record(chain(rest, line))


def _start(root: dict[str, Property], find_game: FindGame) -> Position:
    """The start position that the properties of the first node name. Raises BadTree."""
    kind = root.get("GM")
    event = root["EV"].values[0].lower() if "EV" in root else ""
    if kind is None:
        named = next((name for name in GAMES.values() if event.startswith(name)), None)
        if named is None:
            raise BadTree(0, "(", "the game, as in GM[4]: without it the file is of Go")
        game_id, offset = named, root["EV"].offset
    else:
        number = kind.values[0].strip().lstrip("0")
        if number not in GAMES:
            known = ", ".join(f"{key} ({name})" for key, name in GAMES.items())
            other = f"; it is {OTHER_GAMES[number]}" if number in OTHER_GAMES else ""
            raise BadTree(kind.offset, f"GM[{kind.values[0]}]", f"one of {known}{other}")
        game_id, offset = GAMES[number], kind.offset
    try:
        game = find_game(game_id)
        start = game.start(_options(root, game))
    except GameError as error:
        raise BadTree(offset, game_id, f"a game that is played here ({error})") from error
    columns, rows = _size(game, start)
    if size := root.get("SZ"):
        given = size.values[0].replace(" ", "")
        if given not in (f"{columns}", f"{columns}:{rows}"):
            raise BadTree(size.offset, f"SZ[{given}]", f"{game.title} on {columns} by {rows}")
    return _set_up(root, start)


def _options(root: dict[str, Property], game: Game) -> dict[str, str]:
    """The options that the rules name as our writer has them: swap=no."""
    named = root["RU"].values[0].split(",") if "RU" in root else []
    pairs = (option.split("=", 1) for option in named if "=" in option)
    return {name: value for name, value in pairs if name in game.options}


def _size(game: Game, start: Position) -> tuple[int, int]:
    board = game.board(start.options).board
    if isinstance(board, Grid):
        return board.cols, board.rows
    side = round(len(board.sites) ** 0.5)
    return side, side


def _set_up(root: dict[str, Property], start: Position) -> Position:
    """The position of the stones that the first node sets: those of Black are of the first seat.

    It is the text of the start with other cells and another side. Raises BadTree.
    """
    stones = {
        cell_of(start, value): seat
        for name, seat in (("AB", 0), ("AW", 1)) if name in root for value in root[name].values
    }  # fmt: skip
    if not stones:
        return start
    board = start.game.board(start.options)
    kinds = {kind.side: name for name, kind in board.kinds.items()}
    cells, _, rest = start.text().partition(" ")
    side, _, more = rest.partition(" ")
    sides = [seat.name.lower() for seat in board.seats]
    if side not in sides:
        sides = [kinds[0], kinds[1]]
    columns, rows = _size(start.game, start)
    is_from_top = isinstance(board.board, Grid) and board.board.origin == "bottom-left"
    numbers = range(rows, 0, -1) if is_from_top else range(1, rows + 1)
    empty = Counter(cells.replace("/", "")).most_common(1)[0][0]
    text = ("/" if "/" in cells else "").join(
        "".join(
            kinds[stones.pop(cell)] if (cell := f"{chr(97 + i)}{number}") in stones else empty
            for i in range(columns)
        )
        for number in numbers
    )
    to_move = root["PL"].values[0].strip().upper()[:1] if "PL" in root else "B"
    offset = root["AB" if "AB" in root else "AW"].offset
    if stones:
        raise BadTree(offset, next(iter(stones)), f"cells of {start.game.title}")
    try:
        text = f"{text} {sides[to_move == 'W']} {more}".strip()
        return start.game.position(text, start.options)
    except GameError as error:
        raise BadTree(offset, "AB", f"a position of {start.game.title} ({error})") from error


def cell_of(position: Position, value: str) -> str:
    """The token of a value: letters from the top left, or a cell as we write it."""
    text = value.strip().lower()
    if len(text) != 2 or not text.isalpha():
        return text
    column, row = text[0], ord(text[1]) - 97
    board = position.game.board(position.options).board
    if isinstance(board, Grid) and board.origin == "bottom-left":
        return f"{column}{board.rows - row}"
    return f"{column}{row + 1}"


class _Game:
    """A game while the nodes of its main line are read."""

    def __init__(self, root: dict[str, Property], start: Position) -> None:
        self._root = root
        self._reader: MoveReader = reader_of(start)
        #: The comments after so many moves.
        self._comments: dict[int, list[str]] = {}
        self._resigned: int | None = None
        #: Whether our writer wrote the file: GC is then the reason for the end.
        self._is_ours = "AP" in root and root["AP"].values[0].startswith("Plyroom")
        #: The colour of the moves of the first seat, known from the first move on.
        self._first = "B" if root.keys() & {"AB", "AW"} else ""
        #: Little Golem names no game and marks the first player's moves W, but means that player
        #: by PB, and by B in the result (PlayHex reads it so, and resignations in its files agree).
        self._is_little_golem = "GM" not in root

    def record(self, items: Iterable[Property | Variation]) -> GameRecord:
        """The game with the moves of these items. Raises BadTree."""
        for name in ("C",) if self._is_ours else ("C", "GC"):
            if name in self._root:
                self._say(self._root[name].values[0])
        # The moves after each node of the main line; the first one may have a move as well.
        plies = [0]
        for item in items:
            if isinstance(item, Variation):
                self._say(item.text, plies[max(0, item.nodes - 1)])
            elif item.name == ";":
                plies.append(plies[-1])
            else:
                self._take(item)
                plies[-1] = len(self._reader.moves)
        is_black_first = self._first in ("", "B") or self._is_little_golem
        colours = {"B": 0, "W": 1} if is_black_first else {"W": 0, "B": 1}
        names = ["", ""]
        for colour, seat in colours.items():
            if player := self._root.get(f"P{colour}"):
                names[seat] = " ".join(player.values[0].split())
        start = self._reader.start
        played_on = self._reader.played_on
        return GameRecord(
            match="", game=start.game.id, options=dict(start.options), rules="",
            start=start.text(), seats=tuple(Seat(name) for name in names),
            moves=tuple(
                structs.replace(move, comment="\n".join(self._comments.get(plies, ())))
                for plies, move in enumerate(self._reader.moves, 1)
            ),
            over=self._reader.over(self._over(colours)),
            tags=self._tags(), comment="\n".join(self._comments.get(0, ())),
            extra={} if played_on is None
            else {"played_on": {"plies": played_on.plies, "reason": played_on.reason}},
        )  # fmt: skip

    def _take(self, item: Property) -> None:
        """Takes a property after the first node. Raises BadTree."""
        value = item.values[0] if item.values else ""
        if item.name in ("B", "W"):
            self._move(item, value)
        elif item.name == "C":
            self._say(value)
        elif item.name in ("BL", "WL") and SECONDS.fullmatch(value) and self._reader.moves:
            last = self._reader.turns[-1]
            if (item.name[0] == self._first) == (last == 0):
                self._change(clock_ms=max(0, round(float(value) * 1000)))
        elif item.name in NAGS and self._reader.moves and len(self._reader.moves[-1].nags) < 4:
            self._change(nags=(*self._reader.moves[-1].nags, NAGS[item.name]))
        elif item.name in ("AB", "AW", "AE", "PL"):
            found = f"{item.name}[{value}]"
            raise BadTree(item.offset, found, "moves only: stones that are set are not read")

    def _move(self, item: Property, value: str) -> None:
        self._first = self._first or item.name
        reader = self._reader
        seat = 0 if item.name == self._first else 1
        text = value.strip().lower()
        found = f"{item.name}[{value}]"
        if text in ("resign", "resigns", "forfeit"):
            self._resigned = seat
            return
        forced = reader.position.forced_pass()
        is_pass = text in ("", "tt", "pass", "pa")
        turn = reader.turn if forced is None or is_pass else 1 - reader.turn
        if seat != turn:
            colour = self._first if turn == 0 else "BW".replace(self._first, "")
            raise BadTree(item.offset, found, f"a move of {colour}")
        if text == "swap-sides":
            raise BadTree(item.offset, found, "swap-pieces, the swap of our rules")
        token = "pass" if is_pass else "swap" if text in SWAP else cell_of(reader.position, value)
        try:
            reader.read(token)
        except GameIsOver as error:
            raise BadTree(item.offset, found, f"the end of the game ({error})") from error
        except GameError as error:
            raise BadTree(item.offset, found, f"a legal move ({error})") from error

    def _say(self, text: str, plies: int | None = None) -> None:
        """Adds a comment to the last move, or to the last one of so many."""
        rows = (" ".join(row.split()) for row in text.split("\n"))
        text = "\n".join(row for row in rows if row)
        if text:
            plies = len(self._reader.moves) if plies is None else plies
            self._comments.setdefault(plies, []).append(text)

    def _change(self, **values: object) -> None:
        """Changes the last move."""
        moves: list[Move] = self._reader.moves
        moves[-1] = structs.replace(moves[-1], **values)

    def _over(self, colours: dict[str, int]) -> Over | None:
        """The end as the file says it."""
        text = self._root["RE"].values[0].strip() if "RE" in self._root else ""
        said = self._root["GC"].values[0] if "GC" in self._root else ""
        if won := RESULT.fullmatch(text):
            how, reason = WAYS.get(won[2].strip().upper(), ("", ""))
            if self._is_ours:
                reason = said
            winner = colours[won[1].upper()]
            return over((0, 1), ("1-0", "0-1")[winner], reason, how)
        if text.lower() in ("0", "draw", "d", "jigo"):
            return over((0, 1), "1/2-1/2")
        if self._resigned is not None:
            return over((0, 1), ("0-1", "1-0")[self._resigned], "resignation", "resign")
        if text.upper() in ("B", "W"):  # as Little Golem writes it
            return over((0, 1), ("1-0", "0-1")[colours[text.upper()]])
        return None

    def _tags(self) -> dict[str, str]:
        tags = {}
        for name, item in self._root.items():
            value = " ".join(item.values[0].split()) if item.values else ""
            if name in TAGS and value:
                tags[TAGS[name]] = value.replace("-", ".") if name == "DT" else value
        if "OT" in self._root and (text := " ".join(self._root["OT"].values[0].split())):
            found = OVERTIME.fullmatch(text)
            base = tags.get("TimeControl", "0" if found else "")
            overtime = found["gain"] or found["periods"] if found else text
            tags["TimeControl"] = f"{base}+{overtime}" if base else text
        return tags
