"""Requests to the server's HTTP API that the terminal client needs: games and matches."""

import http.client
import json
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator, Sequence
from http import HTTPStatus
from typing import Annotated, TypeVar

import msgspec
from msgspec import Meta, Struct

from client.address import Address
from client.errors import PlyroomError, ProtocolMismatch, Refused, Unreachable
from client.messages import decode_newer
from engine.view import BoardView, MoveView, PositionView
from server.events import Occupant
from server.protocol.assessments import Assessment
from server.protocol.messages import MatchResult, Notification, Played, RoomSummary

#: Time limit of a request, in seconds.
TIMEOUT_S = 10
#: Time limit of each part of an export, in seconds, and its greatest size in bytes.
EXPORT_TIMEOUT_S, EXPORT_PART_BYTES = 120, 64 * 1024
#: The longest response body that the client reads, in bytes.
MAX_BODY_BYTES = 16 * 2**20
#: Maximum number of views that the server returns for one request.
MAX_VIEWS_PER_REQUEST = 100
#: Maximum number of plies whose assessments the server returns for one request.
MAX_ASSESSED_PLIES = 40
#: Maximum length of a link that a server gives for others.
MAX_LINK = 300
#: What a link is for whose server listens on no network.
ONLY_HERE = (
    "Only this computer can open the link: its server listens on no network. `plyroom serve` starts"
    " one for others."
)
T = TypeVar("T")


class OptionInfo(Struct, frozen=True):
    """An option of a game. With `free` the server accepts values that are not `offered`."""

    title: str
    default: str
    offered: tuple[str, ...]
    free: bool = False


class GameInfo(Struct, frozen=True):
    """A game that the server offers; `levels` is the number of its AI levels, `view` its board.

    It is 0 for a game with `search` "teach", whose AI seats play strategies.
    """

    id: str
    title: str
    levels: int
    options: dict[str, OptionInfo]
    rules: str = ""
    search: str = "production"
    aliases: tuple[str, ...] = ()
    goal: str = ""
    level_names: tuple[str, ...] = ()
    view: BoardView | None = None


class Thought(Struct, frozen=True):
    """What the AI's search reported before one of its moves.

    A strategy has a `value` in its own units, and a `log` of its search as lines of text.
    """

    depth: int
    score: int
    nodes: int = 0
    nps: int = 0
    time_ms: int = 0
    pv: tuple[str, ...] = ()
    value: str = ""
    log: str = ""


class MatchRecord(Struct, frozen=True, kw_only=True):
    """A match with its moves.

    `thoughts` maps the ply of each AI move, as text, to the report of the search for it, and
    `assessments` to the same in words. `withheld` says why there are none, if the server withholds
    them. `view` is None when the server does not have the game.
    """

    match: str
    room: str
    game: str
    title: str
    number: int
    seats: tuple[Occupant, ...]
    over: MatchResult | None
    plies: int
    #: The length as text, such as "12 moves", counted as the game counts moves.
    length: str = ""
    options: dict[str, str]
    #: The options in words; a server of an earlier version says nothing.
    options_text: str = ""
    start: str
    moves: tuple[Played, ...]
    view: BoardView | None
    thoughts: dict[str, Thought] = {}
    assessments: dict[str, Assessment] = {}
    withheld: str = ""
    started_ms: int = 0
    finished_ms: int | None = None
    #: The text of the time control, and the time that each move left its player.
    clock: str | None = None
    left_ms: tuple[int | None, ...] = ()


class PlyView(Struct, frozen=True):
    """The view of the position after `ply` plies."""

    ply: int
    view: PositionView


class Line(Struct, frozen=True):
    """A line of moves beside a match: `start` is the position at its end as text.

    `views` are the positions from its beginning on, and `moves` its moves. `over` says why the
    match would be over there; None if it would go on. `legal` are the legal moves there; a server
    of an earlier version sends none.
    """

    start: str
    views: tuple[PositionView, ...]
    over: str | None = None
    moves: tuple[Played, ...] = ()
    legal: tuple[MoveView, ...] = ()


class Reading(Struct, frozen=True):
    """The legal move that a text means; `says` is how it was read, "" where that is plain."""

    move: str
    says: str = ""


class ListedMatch(Struct, frozen=True, kw_only=True):
    """A match in a list. `turn` is the seat to move of a running one of the guest's own matches."""

    match: str
    room: str
    game: str
    title: str
    seats: tuple[Occupant, ...]
    over: MatchResult | None
    plies: int
    length: str = ""
    options_text: str = ""
    started_ms: int = 0
    finished_ms: int | None = None
    turn: int | None = None


class MyMatches(Struct, frozen=True):
    """A guest's own matches, public or not, the rooms in which they wait for a player, those of the
    last hours between two matches, and what waits for the guest.
    """

    running: tuple[ListedMatch, ...] = ()
    finished: tuple[ListedMatch, ...] = ()
    waiting: tuple[RoomSummary, ...] = ()
    rooms: tuple[RoomSummary, ...] = ()
    notifications: tuple[Notification, ...] = ()


class Invitation(Struct, frozen=True):
    """The link of a room for other people. `advice` says what to do if they cannot open it, else it
    is "".
    """

    link: str
    advice: str = ""


class _Links(Struct):
    links: tuple[str, ...] = ()
    advice: str = ""


class _Matches(Struct):
    matches: tuple[ListedMatch, ...]


class _Strategy(Struct):
    name: str
    title: str = ""


class _Strategies(Struct):
    strategies: tuple[_Strategy, ...]


class _Installation(Struct):
    installation: Annotated[str, Meta(pattern="^[0-9a-f]{16}$")]


class _Games(Struct):
    games: tuple[GameInfo, ...]


class _Views(Struct):
    views: tuple[PlyView, ...]


class _Assessments(Struct):
    assessments: dict[str, Assessment]


def fetch_installation(address: Address) -> str | None:
    """Returns the id of a server's installation; None for a server of an earlier version."""
    try:
        return _get(address, "installation", _Installation).installation
    except Refused as refusal:
        if refusal.code != f"http.{HTTPStatus.NOT_FOUND}":
            raise
        return None


def fetch_games(address: Address) -> tuple[GameInfo, ...]:
    """Returns the games that a server offers."""
    return _get(address, "games", _Games).games


def _is_link(text: str) -> bool:
    """Whether a server's text is an address that the terminal may print and copy."""
    is_short = len(text) <= MAX_LINK and text.startswith(("http://", "https://"))
    return is_short and text.isprintable() and " " not in text


def fetch_invitation(address: Address, room: str) -> Invitation:
    """Returns the link of a room that other people can open.

    Only this machine knows its own address as 127.0.0.1: there the server is asked how others reach
    it. Any other address is as the user knows it, and so is one whose server does not answer.
    """
    link = address.room_url(room)
    if not address.is_local:
        return Invitation(link)
    try:
        found = _get(address, f"links/room/{room}", _Links)
    except PlyroomError:
        return Invitation(link)
    if found.links and _is_link(found.links[0]):
        return Invitation(found.links[0])
    advice = "".join(char for char in found.advice if char.isprintable())
    return Invitation(link, advice or ONLY_HERE)


def fetch_my_matches(address: Address, token: str) -> MyMatches:
    """Returns the matches of the guest with this token."""
    return _get(address, "me/matches", MyMatches, token)


def fetch_finished(address: Address) -> tuple[ListedMatch, ...]:
    """Returns the latest finished public matches."""
    return _get(address, "matches?limit=20", _Matches).matches


def fetch_room_matches(address: Address, room: str) -> tuple[ListedMatch, ...]:
    """Returns the last matches of a room, the newest first."""
    return _get(address, f"rooms/{room}/matches", _Matches).matches


def fetch_strategies(address: Address) -> tuple[str, ...]:
    """Returns the names of the strategies that an AI seat can play."""
    return tuple(each.name for each in _get(address, "strategies", _Strategies).strategies)


def fetch_match(address: Address, match: str) -> MatchRecord:
    """Returns the match with this id; raises Refused when there is none."""
    return _get(address, f"matches/{match}", MatchRecord)


def fetch_views(address: Address, match: str, first: int, last: int) -> list[PositionView]:
    """Returns the views of the positions after plies `first` to `last`, inclusive.

    Ply 0 is the start position. Raises ProtocolMismatch when the server sends too few views.
    """
    views: list[PositionView] = []
    while first + len(views) <= last:
        start = first + len(views)
        end = min(last, start + MAX_VIEWS_PER_REQUEST - 1)
        page = _get(address, f"matches/{match}/views?from={start}&to={end}", _Views).views
        if not page:
            raise ProtocolMismatch(f"the server sent no view for ply {start}")
        views += [ply_view.view for ply_view in page]
    return views


def fetch_position(address: Address, match: str, ply: int, moves: Sequence[str] = ()) -> Line:
    """Returns the position of a match after `ply` plies and these other moves; raises Refused when
    there is none.
    """
    query = urllib.parse.urlencode({"ply": ply, "moves": " ".join(moves)})
    return _get(address, f"matches/{match}/variation?{query}", Line)


def fetch_reading(address: Address, match: str, ply: int, text: str) -> Reading:
    """Returns the move that a person means by a text at a ply of a match.

    Raises Refused, with a code that begins with "move.", for a text that means none, or several.
    """
    query = urllib.parse.urlencode({"ply": ply, "text": text})
    return _get(address, f"matches/{match}/reading?{query}", Reading)


def fetch_assessments(
    address: Address, record: MatchRecord, first: int, last: int
) -> dict[str, Assessment]:
    """Returns the AI's searches for the moves from ply `first` to ply `last` in words, by ply.

    Returns none for a server of an earlier version, which does not make them.
    """
    plies = [int(ply) for ply in record.thoughts if first <= int(ply) <= last]
    assessments: dict[str, Assessment] = {}
    while plies:
        path = f"matches/{record.match}/assessments?from={plies[0]}&to={plies[-1]}"
        try:
            assessments |= _get(address, path, _Assessments).assessments
        except Refused:
            return {}
        plies = [ply for ply in plies if ply >= plies[0] + MAX_ASSESSED_PLIES]
    return assessments


def stream_export(address: Address, path: str) -> Iterator[bytes]:
    """Yields the parts of an export as they arrive.

    Raises Refused, or Unreachable if the server is not there or the answer breaks off.
    """
    url = address.api_url(path)
    with _open(address, url, EXPORT_TIMEOUT_S) as response:
        try:
            while part := response.read1(EXPORT_PART_BYTES):
                yield part
        except (OSError, http.client.HTTPException) as error:
            raise Unreachable(f"the answer of {address} broke off: {error}") from error


def _open(
    address: Address, url: str, timeout_s: float, token: str | None = None
) -> http.client.HTTPResponse:
    """The open answer to a request; raises Refused or Unreachable."""
    handlers = [urllib.request.ProxyHandler({})] if address.is_local else []
    headers = {} if token is None else {"Authorization": f"Bearer {token}"}
    try:
        response: http.client.HTTPResponse = urllib.request.build_opener(*handlers).open(
            urllib.request.Request(url, headers=headers), timeout=timeout_s
        )
    except urllib.error.HTTPError as error:
        raise refusal_of(error, url) from error
    except (OSError, ValueError, http.client.HTTPException) as error:
        raise Unreachable.at(address, error) from error
    return response


def _get(address: Address, path: str, response_type: type[T], token: str | None = None) -> T:
    """Returns the decoded response; raises Refused, Unreachable or ProtocolMismatch."""
    url = address.api_url(path)
    with _open(address, url, TIMEOUT_S, token) as response:
        try:
            body = response.read(MAX_BODY_BYTES)
        except (OSError, ValueError, http.client.HTTPException) as error:
            raise Unreachable.at(address, error) from error
    try:
        try:
            return msgspec.json.decode(body, type=response_type)
        except msgspec.ValidationError:
            newer: T = decode_newer(body, response_type)
            return newer
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ProtocolMismatch(f"the server at {url} is not a Plyroom server: {error}") from error


def refusal_of(error: urllib.error.HTTPError, url: str) -> PlyroomError:
    """Returns Refused with the server's error message; Unreachable when the response has none."""
    with error:
        try:
            body = json.loads(error.read(MAX_BODY_BYTES))
            return Refused(str(body["code"]), str(body["message"]))
        except (ValueError, KeyError, TypeError):
            return Unreachable(f"the server at {url} is not a Plyroom server (HTTP {error.code})")
