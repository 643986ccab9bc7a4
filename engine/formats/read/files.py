"""Files of games in any format, known by how they begin. Pure."""

import re
from collections.abc import Callable, Iterable, Iterator
from itertools import chain

from engine.formats.json_lines import parse_json_lines
from engine.formats.read.ggf import parse_ggf
from engine.formats.read.pgn import parse_pgn, parse_transcripts
from engine.formats.read.sgf import parse_sgf
from engine.formats.record import BadGame, FindGame, GameRecord
from engine.text_files import read_lines

#: Reads the games of a file, given in parts of any size: each is a record or a game that is bad.
Parse = Callable[[Iterable[bytes], FindGame], Iterator[GameRecord | BadGame]]
#: The bytes of a file by which its format is known.
HEAD_BYTES = 4096
#: The beginning of a file in each format but PGN, which is all the rest.
JSON_LINES = re.compile(r'\{\s*"')
GGF = re.compile(r"(?:\d+\s*)?\(\s*;\s*GM\s*\[\s*(?:Othello|Reversi)", re.IGNORECASE)
SGF = re.compile(r"\(\s*;")
TRANSCRIPTS = re.compile(
    r"(?:(?:f5|c4|d3|e6)(?:[a-h][1-8]|pa|ps|--)+|[1-7]{2,})(?:\s|$)", re.IGNORECASE
)


def read_games(chunks: Iterable[bytes], find_game: FindGame) -> Iterator[GameRecord | BadGame]:
    """Yields the games of a file in whatever format it is, in their order.

    At most one game is in memory. A game that is not right is skipped as a whole.
    """
    parts = iter(chunks)
    head = b""
    for part in parts:
        head += part
        if len(head) >= HEAD_BYTES:
            break
    return _parser_of(head)(chain((head,), parts), find_game)


def _parser_of(head: bytes) -> Parse:
    """The parser of a file that begins so."""
    lines = [line.text.strip() for line in read_lines((head[:HEAD_BYTES],))]
    begin = "\n".join(line for line in lines if line)
    if JSON_LINES.match(begin):
        return parse_json_lines
    if GGF.match(begin):
        return parse_ggf
    if SGF.match(begin):
        return parse_sgf
    return parse_transcripts if TRANSCRIPTS.match(begin) else parse_pgn
