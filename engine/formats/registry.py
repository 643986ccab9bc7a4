"""The formats of files that games are written in, by name. Readers are in `engine.formats.read`."""

from collections.abc import Callable

from msgspec import Struct

from engine.formats.json_lines import format_json_line
from engine.formats.othello_texts import format_ggf, format_transcript
from engine.formats.pdn import GAME_TYPES, format_pdn
from engine.formats.pgn import format_pgn
from engine.formats.record import FindGame, GameRecord, Unwritable
from engine.formats.sgf import NUMBERS, format_sgf

#: Writes a game as text that ends with what separates it from the next; raises Unwritable.
FormatGame = Callable[[GameRecord, FindGame], str]


class GameText(Struct, frozen=True, omit_defaults=True):
    """A game in a format. `refused` says why the format cannot write it; then there is no text."""

    match: str
    text: str = ""
    refused: str = ""


class Format(Struct, frozen=True):
    """A format of files.

    `games` are the ids of the games that it is for, None if it is for all. `suffix` has no dot.
    `title` says in a menu what the format is.
    """

    name: str
    title: str
    suffix: str
    media_type: str
    games: tuple[str, ...] | None
    format_game: FormatGame

    def is_for(self, game: str) -> bool:
        """Whether games with this id can be written in the format."""
        return self.games is None or game in self.games

    def write(self, record: GameRecord, find_game: FindGame) -> GameText:
        """A game's text, or why the format cannot write it."""
        try:
            return GameText(record.match, self.format_game(record, find_game))
        except Unwritable as error:
            return GameText(record.match, refused=str(error))


#: All formats by name: those of single games before those of all, the usual one of a game first.
FORMATS = {
    each.name: each
    for each in (
        Format("pdn", "PDN", "pdn", "application/x-draughts-pdn", tuple(GAME_TYPES), format_pdn),
        Format("sgf", "SGF", "sgf", "application/x-go-sgf", tuple(NUMBERS), format_sgf),
        Format("ggf", "GGF", "ggf", "application/x-othello-ggf", ("othello",), format_ggf),
        Format("txt", "Transcript", "txt", "text/plain", ("othello",), format_transcript),
        Format("pgn", "PGN", "pgn", "application/x-chess-pgn", None, format_pgn),
        Format("jsonl", "JSON", "jsonl", "application/jsonl", None, format_json_line),
    )
}  # fmt: skip


def formats_of(game: str) -> list[Format]:
    """The formats of a game, the usual one first."""
    return [each for each in FORMATS.values() if each.is_for(game)]
