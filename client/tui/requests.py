"""The server's HTTP API for the screens: each request runs in a thread, and the screen goes on."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlencode

from msgspec.structs import replace

from client.address import Address
from client.analyses import AnalysisReport, analyse_match
from client.api import (
    GameInfo,
    Invitation,
    Line,
    ListedMatch,
    MatchRecord,
    MyMatches,
    Reading,
    fetch_assessments,
    fetch_finished,
    fetch_games,
    fetch_invitation,
    fetch_match,
    fetch_my_matches,
    fetch_position,
    fetch_reading,
    fetch_room_matches,
    fetch_strategies,
    fetch_views,
    stream_export,
)
from client.errors import Refused
from client.own_server import server_environ, teach_command
from engine.view import PositionView

#: The depth of a search for the glass box, in plies, and its greatest number of nodes.
GLASS_DEPTH, GLASS_NODES = 2, 20_000
#: Maximum number of lines of its log that are shown.
MAX_GLASS_LINES = 2000


class Requests:
    """Requests to one server for the user with this token. All may raise PlyroomError."""

    def __init__(self, address: Address, token: str | None) -> None:
        self.address = address
        self._token = token

    async def games(self) -> tuple[GameInfo, ...]:
        """The games of the server."""
        return await asyncio.to_thread(fetch_games, self.address)

    async def strategies(self) -> tuple[str, ...]:
        """The names of the strategies that an AI seat can play."""
        return await asyncio.to_thread(fetch_strategies, self.address)

    async def my_matches(self) -> MyMatches:
        """The user's own matches; none for a user whom the server does not know."""
        if self._token is None:
            return MyMatches()
        return await asyncio.to_thread(fetch_my_matches, self.address, self._token)

    async def finished(self) -> tuple[ListedMatch, ...]:
        """The latest finished public matches."""
        return await asyncio.to_thread(fetch_finished, self.address)

    async def invitation(self, room: str) -> Invitation:
        """The link of a room for other people. It never raises."""
        return await asyncio.to_thread(fetch_invitation, self.address, room)

    async def last_match(self, room: str) -> MatchRecord | None:
        """The latest match of a room; None before the first one."""
        matches = await asyncio.to_thread(fetch_room_matches, self.address, room)
        return await self.match(matches[0].match) if matches else None

    async def match(self, match: str) -> MatchRecord:
        """A match with its moves."""
        return await asyncio.to_thread(fetch_match, self.address, match)

    async def views(self, match: str, first: int, last: int) -> list[PositionView]:
        """The views of the positions after plies `first` to `last`."""
        return await asyncio.to_thread(fetch_views, self.address, match, first, last)

    async def with_assessments(self, record: MatchRecord) -> MatchRecord:
        """The match with the AI's searches in words."""
        found = await asyncio.to_thread(
            fetch_assessments, self.address, record, 0, len(record.moves)
        )
        return replace(record, assessments=found)

    async def line(self, match: str, ply: int, moves: tuple[str, ...]) -> Line:
        """The positions of a line that leaves a match after `ply` plies."""
        return await asyncio.to_thread(fetch_position, self.address, match, ply, moves)

    async def analysis(
        self, match: str, on_report: Callable[[AnalysisReport], None]
    ) -> AnalysisReport:
        """The whole analysis of a match, which the server makes if there is none."""
        loop = asyncio.get_running_loop()

        def report_here(report: AnalysisReport) -> None:
            loop.call_soon_threadsafe(on_report, report)

        tokens = () if self._token is None else (self._token,)
        report, _ = await asyncio.to_thread(
            analyse_match,
            self.address,
            match,
            tokens,
            report_here,
        )
        return report

    async def export(self, match: str, path: Path) -> int:
        """Writes a match to a new file, in the format of its suffix; returns its size in bytes.

        Raises OSError too, such as FileExistsError.
        """
        return await asyncio.to_thread(_export, self.address, match, path)

    async def reading(self, match: str, ply: int, text: str) -> Reading:
        """The move that a text means at a ply of a match."""
        return await asyncio.to_thread(fetch_reading, self.address, match, ply, text)

    async def search_log(
        self,
        game: str,
        options: dict[str, str],
        match: str,
        ply: int,
        moves: tuple[str, ...] = (),
    ) -> str:
        """The log of an alpha-beta search, made on this machine, of the position after a ply of a
        match and these other moves.
        """
        line = await self.line(match, ply, moves)
        command = teach_command(
            f"--game={game}",
            *[f"--option={name}={value}" for name, value in options.items()],
            f"--position={line.start}",
            f"--depth={GLASS_DEPTH}",
            f"--max-nodes={GLASS_NODES}",
        )
        process = await asyncio.create_subprocess_exec(
            *command,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env=server_environ(),
        )
        log, problem = await process.communicate()
        if process.returncode:
            reason = problem.decode(errors="replace").strip().split("\n")[-1]
            raise Refused("search.failed", reason.removeprefix("teach: ") or "the search failed")
        lines = log.decode(errors="replace").split("\n")
        return "\n".join(lines[:MAX_GLASS_LINES])


def _export(address: Address, match: str, path: Path) -> int:
    suffix = path.suffix.removeprefix(".").lower()
    query = urlencode({"format": suffix}) if suffix else ""
    text = b"".join(stream_export(address, f"matches/{match}/export?{query}"))
    with path.open("xb") as file:
        return file.write(text)
