"""The contract of server/store/base.py: the lobby's list, a player's matches, popular games."""

import itertools
from collections.abc import AsyncIterator
from typing import Any

from msgspec.structs import replace

from server.events import Started
from server.events import format_event_body as body_of
from server.ids import IdentityId, MatchId
from server.store.base import MatchPage, MatchStarted, Projection, Store, StoredMatch
from server.store.match_filter import DRAWN, NO_RESULT, Key, MatchFilter, ResultFilter
from tests.support.log_entries import NOW_MS, append, finished, listing, new_room, started

#: The results that need no player.
RESULTS: tuple[ResultFilter, ...] = ("first", "second", "drawn")


def played(match: str, first: str, second: str, *, at_ms: int = NOW_MS) -> MatchStarted:
    """Returns the projection of a match that starts, with its players."""
    return replace(started(match, at_ms=at_ms), first=first, second=second)


def key_of(row: StoredMatch) -> Key:
    """The cursor of the matches before or after this one."""
    assert row.finished_ms is not None
    return row.finished_ms, row.match


async def store_matches(store: Store, *groups: list[Projection]) -> None:
    """Commits each group of projections with one event of a new room."""
    await store.logs.create_room(new_room("r1", count=1))
    for number, group in enumerate(groups):
        await store.logs.append(append("r1", number + 1, projections=group))


async def test_the_matches_of_a_player_are_found_on_either_seat(store: Store) -> None:
    """`player_matches` has running matches first, each group latest first, public or not."""
    await store_matches(
        store,
        [played("old", "ada", "ben", at_ms=NOW_MS + 1)],
        [played("new", "ben", "ada", at_ms=NOW_MS + 2)],
        [played("alone", "ada", "ada", at_ms=NOW_MS + 3)],
        [replace(played("won", "ada", "ai:4"), public=False), finished("won", at_ms=NOW_MS + 8)],
        [played("lost", "ai:4", "ada"), finished("lost", at_ms=NOW_MS + 9)],
        [played("other", "ben", "cyd")],
    )

    async def own(player: str, running: int = 9, over: int = 9) -> list[str]:
        found = await store.projections.player_matches(player, running, over)
        return [match.match for match in found]

    assert await own("ada") == ["alone", "new", "old", "lost", "won"]
    assert await own("ada", 2, 1) == ["alone", "new", "lost"]
    assert await own("ai:4") == ["lost", "won"]
    assert await own("dan") == []


async def test_a_match_that_ends_moves_among_the_finished_ones(store: Store) -> None:
    """`player_matches` has a finished match after the running ones, with its result."""
    await store_matches(
        store,
        [played("m1", "ada", "ben", at_ms=NOW_MS + 5)],
        [played("m2", "ada", "ben")],
        [finished("m1", at_ms=NOW_MS + 9)],
    )
    running, over = await store.projections.player_matches("ben", 9, 9)
    assert (running.match, running.over) == ("m2", None)
    assert (over.match, over.over) == ("m1", b'{"winner":0}')


async def test_finished_matches_are_filtered_by_player_and_game(store: Store) -> None:
    """`matches` returns those of a player on either seat, of a game, and of both, page by page."""
    await store_matches(
        store,
        [played("m1", "ada", "ben"), finished("m1", at_ms=NOW_MS + 1)],
        [played("m2", "cyd", "ada"), finished("m2", at_ms=NOW_MS + 2)],
        [played("m3", "ben", "cyd"), finished("m3", at_ms=NOW_MS + 3)],
        [replace(played("m4", "ada", "ai:2"), game="chess"), finished("m4", at_ms=NOW_MS + 4)],
        [replace(played("m5", "ada", "ben"), public=False), finished("m5", at_ms=NOW_MS + 5)],
        [played("m6", "ada", "ben", at_ms=NOW_MS + 6)],
    )
    game = played("m1", "ada", "ben").game

    async def found(**filters: Any) -> list[str]:
        wanted = MatchFilter(**filters)
        rows = (await store.projections.matches(9, None, wanted)).rows
        first = (await store.projections.matches(1, None, wanted)).rows
        for row in first[:1]:
            first += (await store.projections.matches(9, key_of(row), wanted)).rows
        assert first == rows
        return [row.match for row in rows]

    assert await found() == ["m4", "m3", "m2", "m1"]
    assert await found(player="ada") == ["m4", "m2", "m1"]
    assert await found(player="ai:2") == ["m4"]
    assert await found(game=game) == ["m3", "m2", "m1"]
    assert await found(player="ada", game=game) == ["m2", "m1"]
    assert await found(player="dan") == []
    assert await found(player="ada", viewer="ada") == ["m5", "m4", "m2", "m1"]
    assert await found(player="ben", viewer="ben", game=game) == ["m5", "m3", "m1"]
    assert await found(player="cyd", viewer="cyd") == ["m3", "m2"]
    assert await found(player="ben", viewer="ada") == ["m5", "m3", "m1"], "that both have played"
    assert await found(player="ada", viewer="cyd") == ["m4", "m2", "m1"]
    assert await found(viewer="ada") == await found(), "only with a player"


async def test_finished_matches_are_filtered_by_result_length_and_date(store: Store) -> None:
    """`matches` returns those that the filter accepts, in pages towards older and newer ones.

    An older program stored the result of a match, and no winner.
    """
    ends = (
        (b'{"winner":0,"how":"board"}', 0), (b'{"winner":1,"how":"resign"}', 1),
        (b'{"winner":null,"how":"agreement"}', DRAWN), (b'{"winner":null,"how":"gone"}', DRAWN),
        (b'{"winner":null,"how":"abort"}', NO_RESULT),
    )  # fmt: skip
    rows = []
    cases = itertools.product(ends, (False, True), (("ada", "ben"), ("ben", "ada")))
    for n, ((over, winner), is_older, seats) in enumerate(cases):
        ended = replace(
            finished(f"m{n:02}", at_ms=NOW_MS + n // 4), plies=n // 2 + 1,
            over=over if is_older else b"{}", winner=None if is_older else winner,
        )  # fmt: skip
        speed = (None, "untimed", "blitz")[n % 3]
        clock = "300+3" if speed == "blitz" else None
        start = replace(played(f"m{n:02}", *seats), clock=clock, speed=speed)
        rows.append((start, ended, winner))
    groups: list[list[Projection]] = [[start, end] for start, end, _ in rows]
    await store_matches(store, *groups)
    results = (None, "won", "lost", "drawn", "first", "second")
    limits: tuple[dict[str, Any], ...] = (
        {},
        {"min_plies": 3},
        {"max_plies": 4},
        {"since_ms": NOW_MS + 2, "until_ms": NOW_MS + 3},
        {"speed": "blitz"},
        {"speed": "untimed"},
    )
    filters = [
        *itertools.product(results, (None, "ada"), limits),
        *((result, "cyd", {}) for result in results),  # cyd has no matches
    ]
    for turn, (result, player, limit) in enumerate(filters):
        wanted = MatchFilter(result=result, player=player, **limit)
        expected = [
            start.match
            for start, end, winner in reversed(rows)
            if wanted.accepts(
                start.game,
                (start.first, start.second),
                winner,
                end.plies,
                end.finished_ms,
                start.speed,
            )
        ]
        found = (await store.projections.matches(99, None, wanted)).rows
        assert [row.match for row in found] == expected, wanted
        assert all((row.clock is None) == (row.speed != "blitz") for row in found)
        for number in range(1 + turn % 5, len(found) + 1, 5):  # the lists start at each in turn
            row = found[number - 1]
            older = await store.projections.matches(2, key_of(row), wanted)
            assert older.rows == found[number : number + 2]
            newer = await store.projections.matches(2, None, wanted, after=key_of(row))
            assert newer.rows == found[max(0, number - 3) : number - 1]


async def pages(
    store: Store, wanted: MatchFilter, scan_limit: int, start: Key | None = None
) -> AsyncIterator[MatchPage]:
    """Yields the pages of two matches from the newest on; those newer than `start` if given."""
    cursor, is_newer = start, start is not None
    while True:
        before, after = (None, cursor) if is_newer else (cursor, None)
        page = await store.projections.matches(
            2, before, wanted, after=after, scan_limit=scan_limit
        )  # fmt: skip
        yield page
        edge = page.rows[0 if is_newer else -1] if len(page.rows) == 2 else None
        cursor = page.rest if edge is None else key_of(edge)
        if cursor is None:
            return


async def store_rare_matches(store: Store) -> list[tuple[str, MatchFilter]]:
    """Stores 24 matches, three in each millisecond, of which few meet these filters."""
    groups: list[list[Projection]] = []
    for n in range(24):
        seats = ("ada", "ai:1") if n % 5 == 0 else ("ai:1", "ai:1")
        start = replace(played(f"m{n:02}", *seats), game="chess" if n % 7 == 0 else "sticks")
        start = replace(start, public=n % 4 != 3)
        groups.append([start, finished(f"m{n:02}", at_ms=NOW_MS + n // 3)])
    await store_matches(store, *groups)
    filters: tuple[dict[str, Any], ...] = (
        {}, {"player": "ada"}, {"player": "ai:1"}, {"game": "chess"}, {"min_plies": 99},
        {"player": "ai:1", "game": "chess"}, {"player": "ada", "result": "lost"},
        {"since_ms": NOW_MS + 2, "until_ms": NOW_MS + 6, "player": "ai:1"},
        {"player": "ada", "viewer": "ada"}, {"player": "ai:1", "viewer": "ada"},
    )  # fmt: skip
    return [(str(each), MatchFilter(**each)) for each in filters]


async def test_a_page_of_a_rare_kind_goes_on_where_the_query_stopped(store: Store) -> None:
    """However few matches a query may look at, the pages of a list have each match once and in
    order, in both directions, and end.
    """
    limits, oldest = (1, 4, 30), (NOW_MS - 1, "")
    for turn, (name, wanted) in enumerate(await store_rare_matches(store)):
        everything = (await store.projections.matches(99, None, wanted)).rows
        # The limits take turns: each is tried with three filters in each direction, or four.
        older = [page async for page in pages(store, wanted, limits[turn % 3])]
        assert [row for page in older for row in page.rows] == everything, name
        newer = [page async for page in pages(store, wanted, limits[(turn + 1) % 3], oldest)]
        assert [row for page in reversed(newer) for row in page.rows] == everything, name


async def test_a_query_looks_at_few_matches_for_a_page(store: Store) -> None:
    """A query stops after `scan_limit` matches of its index, and those of the same time; a list
    without a match of the kind ends nevertheless.
    """
    filters = dict(await store_rare_matches(store))
    nothing = [page async for page in pages(store, filters["{'min_plies': 99}"], 6)]
    assert [page.rows for page in nothing] == [[]] * len(nothing)
    # The public matches are 18, and those of the last time of a scan come with the next one.
    assert 3 <= len(nothing) <= 6
    assert [page.rest for page in nothing][-1] is None
    assert all(page.rest is not None for page in nothing[:-1])
    whole = await store.projections.matches(2, None, filters["{'min_plies': 99}"], scan_limit=18)
    assert whole == MatchPage([])


def test_a_filter_knows_who_won() -> None:
    """A match is won by the seat of its winner; a match without a result is no draw."""
    won = 1

    def accepts(result: str, winner: int, player: str | None = None) -> bool:
        wanted = MatchFilter(result=result, player=player)  # type: ignore[arg-type]
        return wanted.accepts("hex", ("ada", "ben"), winner, 1, NOW_MS, "untimed")

    assert [accepts(result, won) for result in ("first", "second", "drawn")] == [False, True, False]
    assert (accepts("won", won, "ben"), accepts("won", won, "ada")) == (True, False)
    assert (accepts("lost", won, "ada"), accepts("lost", won, "ben")) == (True, False)
    assert (accepts("won", won), accepts("lost", won)) == (False, False)
    assert (accepts("drawn", DRAWN), accepts("drawn", NO_RESULT)) == (True, False)
    assert not any(accepts(result, DRAWN) for result in ("first", "second", "won", "lost"))


async def test_matches_with_their_players_need_no_filling(store: Store) -> None:
    """`fill_players` changes only matches whose players are missing, each once."""
    seats = b'[{"identity":"ada","name":"Ada"},{"identity":"ai","name":"AI","kind":"ai","level":3}]'
    await store_matches(
        store, [played("known", "ben", "cyd")], [replace(started("unknown"), seats=seats)]
    )
    assert await store.projections.fill_players(9) == 1
    assert await store.projections.fill_players(9) == 0
    for player, match_ids in (("ada", ["unknown"]), ("ai:3", ["unknown"]), ("ben", ["known"])):
        found = await store.projections.player_matches(player, 9, 9)
        assert [match.match for match in found] == match_ids


async def test_the_winners_of_an_older_program_are_filled_in(store: Store) -> None:
    """`fill_winners` fills in the winner of each finished match that has none, once.

    A list of drawn or won matches is the same before and after. The filled column decides: a result
    that `over` does not begin with is another match's.
    """
    older = {"won": b'{"winner":1}', "drawn": b'{"winner":null,"how":"claim"}', "odd": b"?"}
    groups: list[list[Projection]] = [
        [started(match), replace(finished(match, at_ms=NOW_MS + n), over=over, winner=None)]
        for n, (match, over) in enumerate(older.items())
    ]
    groups.append([started("known"), replace(finished("known"), over=b'{"winner":0}', winner=1)])
    await store_matches(store, [started("running")], *groups)

    async def lists() -> dict[str, list[str]]:
        pages = {
            result: await store.projections.matches(9, None, MatchFilter(result=result))
            for result in RESULTS
        }
        return {result: [row.match for row in page.rows] for result, page in pages.items()}

    expected = {"first": [], "second": ["won", "known"], "drawn": ["drawn"]}
    assert await lists() == expected
    for limit, count in ((2, 2), (9, 1), (9, 0)):
        assert await store.projections.fill_winners(limit) == count
        assert await lists() == expected


async def test_the_clocks_of_an_older_program_are_filled_in(store: Store) -> None:
    """`fill_clocks` takes the control and its class from the match's `started`, once. A match of an
    older program counts as untimed before; one of a newer version, with a control that this one
    does not know, does so for good.
    """
    texts = {"m1": "300+3", "m2": None, "m3": "two hourglasses", "m4": "60"}
    for n, (match, clock) in enumerate(texts.items()):
        event = Started(match, 1, "1-2-3", "digest", (), clock=clock, clocks_ms=(1, 1))
        row = started(match, 2, at_ms=NOW_MS + n)
        if match == "m4":
            row = replace(row, clock="60", speed="bullet")
        room = new_room(match, projections=[row, finished(match, at_ms=NOW_MS + n)])
        entries = (room.append.events[0], replace(room.append.events[1], body=body_of(event)))
        append = replace(room.append, events=entries)
        await store.logs.create_room(replace(room, append=append))

    async def found(speed: str) -> list[str]:
        page = await store.projections.matches(9, None, MatchFilter(speed=speed))  # type: ignore[arg-type]
        return [row.match for row in page.rows]

    assert await found("untimed") == ["m3", "m2", "m1"]
    assert [await store.projections.fill_clocks(limit) for limit in (1, 9, 9)] == [1, 2, 0]
    assert (await found("untimed"), await found("blitz")) == (["m3", "m2"], ["m1"])
    assert await found("bullet") == ["m4"]
    filled = await store.projections.match(MatchId("m1"))
    assert filled is not None
    assert (filled.clock, filled.speed) == ("300+3", "blitz")


async def test_rooms_without_followers_for_long_are_not_in_the_list(store: Store) -> None:
    """`rooms` omits rooms that had neither a change nor a follower since then."""
    for n in range(3):
        await store.logs.create_room(new_room(f"r{n}", projections=[listing(str(n))]))
    await store.projections.mark_rooms_followed(["r1", "unknown"], NOW_MS + 5)
    await store.projections.mark_rooms_followed(["r1", "r2"], NOW_MS + 3)
    await store.projections.mark_rooms_followed([], NOW_MS + 9)
    rooms = await store.projections.rooms(9, since_ms=NOW_MS + 1)
    assert [(room.room, room.changed_ms) for room in rooms] == [
        ("r1", NOW_MS + 5),
        ("r2", NOW_MS + 3),
    ]
    assert len(await store.projections.rooms(9)) == 3


async def test_the_rooms_of_a_host_are_found_listed_or_not(store: Store) -> None:
    """`hosted_rooms` has the rooms that an identity created, the last changed first.

    `entries` has those of known rooms, whoever created them.
    """
    for n, (host, is_listed) in enumerate([("ada", True), ("ada", False), ("ben", True)]):
        entry = listing(str(n), listed=is_listed)
        new = new_room(f"r{n}", host, at_ms=NOW_MS + n, projections=[entry])
        await store.logs.create_room(new)

    async def hosted(since_ms: int, limit: int = 9) -> list[str]:
        rooms = await store.projections.hosted_rooms(IdentityId("ada"), since_ms, limit)
        return [room.room for room in rooms]

    assert await hosted(0) == ["r1", "r0"]
    assert await hosted(0, 1) == ["r1"]
    assert await hosted(NOW_MS + 1) == ["r1"]
    entries = await store.projections.entries(["r2", "unknown", "r1"])
    assert {each.room: each.summary for each in entries} == {
        room: listing(room[1:]).summary for room in ("r1", "r2")
    }
    assert await store.projections.entries([]) == []


async def test_the_matches_of_a_room_are_found_by_their_number(store: Store) -> None:
    """`room_matches` has the last matches of one room, running or not, the latest first."""
    numbered: list[list[Projection]] = [[replace(started(f"m{n}"), number=n)] for n in (2, 1, 3)]
    await store_matches(store, *numbered)
    await store.logs.create_room(new_room("r2", count=1))
    await store.logs.append(append("r2", 1, projections=[started("other")]))

    async def found(room: str, limit: int = 9) -> list[str]:
        return [each.match for each in await store.projections.room_matches(room, limit)]

    assert await found("r1") == ["m3", "m2", "m1"]
    assert await found("r1", 1) == ["m3"]
    assert (await found("r2"), await found("unknown")) == (["other"], [])
