"""A line of moves beside a match: its views, and the position from which a room can start."""

from urllib.parse import quote

import pytest

from server.codes import Code
from tests.server.test_api import get, matches, refusal


async def test_a_line_beside_a_match_is_drawn_to_its_end() -> None:
    """The answer has a view for each position of the line, and its moves with their numbers.

    A room can start from the position at the end.
    """
    async with matches() as (node, _room, ids):
        line = await get(node, f"/api/matches/{ids[0]}/variation?ply=2&moves={quote('c3 b2')}")
        assert [move["move"] for move in line["moves"]] == ["c3", "b2"]
        assert [move["number"] for move in line["moves"]] == ["3.", "4."]
        assert [view["turn"] for view in line["views"]] == [0, 1, 0]
        stored = await get(node, f"/api/matches/{ids[0]}/views?from=2&to=2")
        assert line["views"][0] == stored["views"][0]["view"]
        assert sorted(line["views"][2]["pieces"]) == ["a1", "b1", "b2", "c3"]
        assert line["over"] is None
        assert sorted(move["id"] for move in line["legal"]) == ["a2", "a3", "b3", "c1", "c2"]
        start = await get(node, f"/api/position?game=tic-tac-toe&start={quote(line['start'])}")
        assert start["view"]["pieces"] == line["views"][2]["pieces"]
        won = await get(node, f"/api/matches/{ids[0]}/variation?ply=4&moves=a3")
        assert (won["over"], won["legal"]) == ("three in a row", [])


@pytest.mark.parametrize(
    "query", ["ply=9", "ply=x", "ply=2&moves=a1", "moves=zz", "moves=" + "a1+" * 41]
)
async def test_a_line_that_cannot_be_played_is_refused(query: str) -> None:
    """A ply after the end, a move that is not legal and a line that is too long get a 400."""
    async with matches() as (node, _room, ids):
        target = f"/api/matches/{ids[0]}/variation?{query}"
        assert await refusal(node, target) == (400, Code.MESSAGE_MALFORMED)
        unknown = await refusal(node, "/api/matches/nothing/variation?ply=0")
        assert unknown == (404, Code.MATCH_UNKNOWN)


async def test_a_match_without_help_starts_no_other_one() -> None:
    """While two people play without help, a line says why no match against an AI starts from it;
    the line of a finished match does not.
    """
    async with matches() as (node, _room, ids):
        finished = await get(node, f"/api/matches/{ids[0]}/variation?ply=0")
        assert "withheld" not in finished
    async with matches(game="chess", count=0) as (node, _room, ids):
        running = await get(node, f"/api/matches/{ids[0]}/variation?ply=0")
        assert "two people" in running["withheld"]


async def test_lines_beside_matches_are_limited_by_address() -> None:
    """Beyond an address's limit a line gets a 429 with the time to retry; a line that cannot be
    played counts too, and another address has a limit of its own.
    """
    limits = {
        "limit_replays_burst": 2, "limit_replays_per_minute": 6, "proxies": ("127.0.0.0/8",),
    }  # fmt: skip
    async with matches(settings=limits) as (node, _room, ids):
        target, here = f"/api/matches/{ids[0]}/variation", {"X-Forwarded-For": "192.0.2.1"}
        assert (await node.get(f"{target}?ply=2&moves=c3", **here)).status == 200
        assert (await node.get(f"{target}?ply=2&moves=a1", **here)).status == 400
        refused = await node.get(f"{target}?ply=2&moves=c3", **here)
        assert (refused.status, refused.json["code"]) == (429, Code.RATE_EXCEEDED)
        assert refused.headers["retry-after"] == "10"
        there = {"X-Forwarded-For": "192.0.2.2"}
        assert (await node.get(f"{target}?ply=2&moves=c3", **there)).status == 200


async def test_a_move_is_read_as_people_write_it() -> None:
    """The answer has the token of the move, and how the text was read where that is not plain; a
    text that is no move, is not legal or may be several moves gets a 400 of its own.
    """
    async with matches(game="chess", count=0) as (node, _room, ids):
        target = f"/api/matches/{ids[0]}/reading?ply=0&text="
        for text in ("1. nf3", "♘f3", "G1-F3"):
            assert await get(node, target + quote(text)) == {"move": "g1f3", "says": ""}
        german = {"move": "g1f3", "says": "Sf3 is read as Nf3"}
        assert await get(node, target + "Sf3") == german
        for text, code in (
            ("n", Code.MOVE_AMBIGUOUS), ("e5", Code.MOVE_ILLEGAL), ("hello", Code.MOVE_MALFORMED),
            ("", Code.MOVE_MALFORMED),
        ):  # fmt: skip
            assert await refusal(node, target + text) == (400, code)
        late = f"/api/matches/{ids[0]}/reading?ply=1&text=e4"
        assert await refusal(node, late) == (400, Code.MESSAGE_MALFORMED)
        unknown = await refusal(node, "/api/matches/nothing/reading?text=e4")
        assert unknown == (404, Code.MATCH_UNKNOWN)


async def test_readings_are_limited_by_address() -> None:
    """Beyond the limit of an address's commands a text gets a 429."""
    limits = {"limit_commands_address_burst": 1, "limit_commands_address_per_minute": 6}
    async with matches(settings=limits) as (node, _room, ids):
        target = f"/api/matches/{ids[0]}/reading?ply=2&text=C3"
        assert (await get(node, target))["move"] == "c3"
        assert await refusal(node, target) == (429, Code.RATE_EXCEEDED)


async def test_texts_of_positions_are_limited_by_address() -> None:
    """Beyond a tenth of the limit of replays a text gets a 429; the game's own start does not
    count.
    """
    limits = {"limit_replays_burst": 20, "limit_replays_per_minute": 6}
    async with matches(settings=limits) as (node, _room, _ids):
        own = "/api/position?game=gomoku"
        for text in ("h8i9", "h8h8"):
            assert (await node.get(f"{own}&start={text}")).status in (200, 400)
        assert await refusal(node, f"{own}&start=h8i9") == (429, Code.RATE_EXCEEDED)
        assert (await node.get(own)).status == 200
