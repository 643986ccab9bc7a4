"""Analyses of matches, followed over HTTP, and of games in files, made on this machine."""

import contextlib
import http.client
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterable, Iterator, Sequence
from http.cookies import SimpleCookie
from typing import Any

import msgspec
from msgspec import Struct

from client.address import Address
from client.api import MAX_BODY_BYTES, MatchRecord, refusal_of
from client.errors import ProtocolMismatch, Refused, Unreachable
from client.own_server import analyse_command, server_environ
from server.protocol.assessments import Candidate, ListedGame

#: Time without a byte after which the connection to a server counts as lost, in seconds.
SILENCE_S = 15
#: Pause before a lost stream is opened again, in seconds.
RETRY_S = 1.0
#: Number of consecutive lost connections after which the client gives up.
MAX_LOST_CONNECTIONS = 10
#: The states of an unfinished analysis.
UNFINISHED = ("queued", "running")


class AnalysedPosition(Struct, frozen=True):
    """The analysis of a position and of the move that was played there."""

    ply: int
    chance: int
    seat: int
    says: str = ""
    text: str = ""
    line: str = ""
    candidates: tuple[Candidate, ...] = ()
    depth: int = 0
    only: bool = False
    loss: float | None = None
    mark: str | None = None
    says_mark: str = ""


class MarkCounts(Struct, frozen=True):
    """The number of a side's moves with each mark."""

    inaccuracy: int
    mistake: int
    blunder: int


class TurningPoint(Struct, frozen=True):
    """A sentence about a move that decided the match."""

    ply: int
    sentence: str


class AnalysisSummary(Struct, frozen=True):
    """The accuracy of both sides, the number of their marks, and the turning points."""

    accuracy: tuple[float | None, float | None]
    counts: tuple[MarkCounts, MarkCounts]
    turning_points: tuple[TurningPoint, ...]


class AnalysisReport(Struct, frozen=True):
    """The analysis of a match, or its new part."""

    state: str
    plies: int
    done_plies: int
    reason: str = ""
    ahead: int | None = None
    moves: tuple[AnalysedPosition, ...] = ()
    summary: AnalysisSummary | None = None


class _FileLine(Struct, frozen=True):
    """A line about a file: a match, a game of its list, or else a report."""

    match: str | None = None
    listed: int | None = None


#: Called with each report of a growing analysis.
OnReport = Callable[[AnalysisReport], None]


def analyse_match(
    address: Address, match: str, tokens: Sequence[str], on_report: OnReport
) -> tuple[AnalysisReport, str | None]:
    """Requests the analysis of a match, if it has none, and waits for its end.

    The request is that of the first of the tokens that the server knows, or of a new guest. Returns
    the whole report, and the token of that guest. Raises Refused with the reason, Unreachable and
    ProtocolMismatch.
    """
    report = _read(address, match)
    used_token = None
    if report.state in ("none", "failed"):
        report, used_token = _request(address, match, tokens)
    lost = 0
    while report.state in UNFINISHED:
        on_report(report)
        try:
            for report in _follow(address, match):
                on_report(report)
                lost = 0
        except Unreachable:
            lost += 1
            if lost == MAX_LOST_CONNECTIONS:
                raise
        if report.state in UNFINISHED:
            time.sleep(RETRY_S)
    if report.state != "done":
        raise Refused("analysis.refused", report.reason or "the match cannot be analysed")
    return _read(address, match), used_token


def analyse_file(
    file: str, options: Sequence[str], on_report: OnReport
) -> Iterator[ListedGame | tuple[MatchRecord, AnalysisReport]]:
    """Analyses games of a file, or of standard input ("-"), on this machine.

    Yields each match with its whole report. Without `--number N` or `--all` among the options, a
    file of several games is listed instead; with `--all` a game that cannot be analysed is. Raises
    Refused, with the reason, for a file or a game that cannot be analysed, after all others.
    """
    command = analyse_command(file, *options)
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=server_environ()
    ) as process:
        assert process.stdout is not None, "it is a pipe"
        assert process.stderr is not None, "it is a pipe"
        record: MatchRecord | None = None
        try:
            for line in process.stdout:
                kind = msgspec.json.decode(line, type=_FileLine)
                if kind.match is not None:
                    record = msgspec.json.decode(line, type=MatchRecord)
                elif kind.listed is not None:
                    yield msgspec.json.decode(line, type=ListedGame)
                else:
                    report = _decode(line)
                    on_report(report)
                    if report.state not in UNFINISHED and record is not None:
                        yield record, report
        except BaseException:
            process.kill()
            raise
        problem = process.stderr.read().decode("utf-8", "replace").strip()
    if process.returncode:
        last = problem.splitlines()[-1] if problem else "the analysis ended early"
        raise Refused("analysis.refused", last.removeprefix("Error: "))


def _read(address: Address, match: str) -> AnalysisReport:
    with _open(address, _path(match)) as response:
        return _decode(response.read(MAX_BODY_BYTES))


def _request(address: Address, match: str, tokens: Sequence[str]) -> tuple[AnalysisReport, str]:
    """Requests an analysis, as a new guest if the server knows none of the tokens."""
    for token in tokens:
        with contextlib.suppress(_UnknownGuest):
            return _post(address, match, token), token
    new_token = _new_guest(address)
    return _post(address, match, new_token), new_token


class _UnknownGuest(Refused):
    """The server does not know the token."""


def _post(address: Address, match: str, token: str) -> AnalysisReport:
    headers = {"Authorization": f"Bearer {token}"}
    try:
        with _open(address, _path(match), method="POST", data=b"", headers=headers) as response:
            return _decode(response.read(MAX_BODY_BYTES))
    except Refused as refusal:
        if refusal.code == "token.unknown":
            raise _UnknownGuest(refusal.code, refusal.message) from refusal
        raise


def _new_guest(address: Address) -> str:
    """Creates a guest; returns its token."""
    with _open(address, "guest", method="POST", data=b"{}") as response:
        cookies = SimpleCookie(response.headers.get("Set-Cookie", ""))
    if not cookies:
        raise ProtocolMismatch(f"the server at {address} has created no guest")
    return next(iter(cookies.values())).value


def _follow(address: Address, match: str) -> Iterator[AnalysisReport]:
    """Yields the reports of a stream until it ends."""
    with _open(address, f"{_path(match)}?follow") as response:
        yield from _decode_lines(_until_lost(response, address))


def _until_lost(lines: Iterable[bytes], address: Address) -> Iterator[bytes]:
    """Yields lines; raises Unreachable if the connection breaks."""
    try:
        yield from lines
    except OSError as error:
        raise Unreachable(f"the connection to {address} is lost: {error}") from error


def _decode_lines(lines: Iterable[bytes]) -> Iterator[AnalysisReport]:
    """Yields the reports in lines; empty lines keep a connection alive."""
    for line in lines:
        if line.strip():
            yield _decode(line)


def _decode(body: bytes) -> AnalysisReport:
    try:
        return msgspec.json.decode(body, type=AnalysisReport)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ProtocolMismatch(f"the server sent no analysis: {error}") from error


def _path(match: str) -> str:
    return f"matches/{match}/analysis"


def _open(address: Address, path: str, **options: Any) -> Any:
    """Sends a request; returns the response. Raises Refused and Unreachable."""
    url = address.api_url(path)
    handlers = [urllib.request.ProxyHandler({})] if address.is_local else []
    request = urllib.request.Request(url, **options)
    try:
        return urllib.request.build_opener(*handlers).open(request, timeout=SILENCE_S)
    except urllib.error.HTTPError as error:
        raise refusal_of(error, url) from error
    except (OSError, ValueError, http.client.HTTPException) as error:
        raise Unreachable.at(address, error) from error
