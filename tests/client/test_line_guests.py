"""Line mode: the user's name, and a claim after the opponent has gone."""

import asyncio
import re

import pytest

from client.terminal.line import JOIN_S, RETURN_S, InputEnded, LineMode
from server.commands import Move, MySeat, OpenSeat, Sit
from tests.client.test_line import ADDRESS, CapturedOutput, TypedLines, play
from tests.support.fake_room import ADA, BOB, FakeRoom
from tests.support.scripted_server import Link, memory
from tests.support.virtual_time import run_virtual


def test_a_guest_changes_the_name() -> None:
    """`name` says the name; with a text it changes the name, or says why not."""
    room = FakeRoom()
    run = CapturedOutput(interactive=True)

    async def renaming(link: Link) -> None:
        await link.hello(name="Ada B")
        await link.idle()

    async def refusing(link: Link) -> None:
        await link.expect("hello")
        await link.send(
            {"t": "error", "id": None, "code": "name.refused", "message": "the name is too long"}
        )

    async def main() -> None:
        async with memory(room.serve, renaming, room.serve, refusing) as c:
            lines = TypedLines("name", "name Ada B", "name " + 99 * "x", "b2", "q")
            await LineMode(c, ADDRESS, "r", lines, run.output).run()

    run_virtual(main())
    said = [line for line in run.messages.splitlines() if "You are" in line or "name" in line]
    assert said == ["You are Ada.", "You are now Ada B.", "error: the name is too long"]
    assert "1. Crosses: b2" in run.data


def test_who_may_claim_the_win_is_told_so_at_claim() -> None:
    """There is no draw to claim, but the opponent has gone."""

    class LonelyRoom(FakeRoom):
        def _may(self) -> tuple[str, ...]:
            return (*super()._may(), "claim_win")

    run = play(LonelyRoom(), TypedLines("claim", "q"), interactive=True)
    assert "To claim the win, type claim-win." in run.messages
    assert "no: " not in run.messages


CLAIMS = ("claim_win", "call_draw", "let_ai_play")


@pytest.mark.parametrize(
    ("moves", "may", "left_ms", "sentence"),
    [
        ("", ("abort",), 59_001, "You may abort the match: type abort. Or wait."),
        ("a1", (), 59_001, "In 60 s you may claim the match. Or wait."),
        ("a1", (), 0, "Soon you may claim the match. Or wait."),
        ("a1 b1", (), 59_001, "In 60 s and after your move you may claim the match. Or wait."),
        ("a1 b1", (), 0, "After your move you may claim the match. Or wait."),
    ],
)
def test_a_player_is_told_when_the_match_may_be_claimed_and_then_how(
    moves: str, may: tuple[str, ...], left_ms: int, sentence: str
) -> None:
    """The terminal says what a claim waits for when the opponent goes, and lists the claims when
    the server permits them, exactly those and once; then it reads a line.
    """
    room = FakeRoom(seats=(MySeat(), OpenSeat()))

    async def other_player(mode: LineMode) -> None:
        await asyncio.sleep(1)
        await room.act(BOB, Sit(id="1", seat=1))
        for ply, move in enumerate(moves.split()):
            await room.act((ADA, BOB)[ply % 2], Move(id=f"m{ply}", ply=ply, move=move))
        await room.send_may(*may)
        await room.send_presence(True, False, gone_ms=(None, left_ms))
        for claims in (CLAIMS, CLAIMS, (), CLAIMS[1:], (), CLAIMS[:1]):
            await room.send_may(*claims)
        await room.send_may(*CLAIMS)
        lines.type("q")  # which is read without a terminal too, on the opponent's turn

    lines = TypedLines()
    run = play(room, lines, other_player=other_player)
    assert [line for line in run.messages.splitlines() if "Or wait" in line] == [
        sentence,
        "You may claim the match: type claim-win, call-draw or let-ai-play. Or wait.",
        "You may claim the match: type call-draw or let-ai-play. Or wait.",
        "You may claim the match: type claim-win. Or wait.",
    ]


def test_moves_that_were_typed_ahead_wait_while_the_match_may_be_claimed() -> None:
    """In a pipe the opponent's absence consumes no move and no claim of a draw: they wait for the
    turn. What answers the absence is executed at once, and the others when the opponent is back.
    """
    room = FakeRoom(seats=(MySeat(), OpenSeat()))

    async def other_player() -> None:
        await asyncio.sleep(1)
        await room.act(BOB, Sit(id="1", seat=1))
        await room.act(ADA, Move(id="m0", ply=0, move="b2"))
        await room.send_may(*CLAIMS)
        await asyncio.sleep(60)  # the lines have been read
        lines.type("call-draw")
        await asyncio.sleep(60)
        await room.send_may()
        assert run.messages.count("error: ") == 1, "only the claim was sent"
        await room.act(BOB, Move(id="m1", ply=1, move="a1"))
        await asyncio.sleep(5)
        await room.act(BOB, Move(id="m3", ply=3, move="b1"))

    lines = TypedLines("c2", "claim", "a2")
    run = CapturedOutput(interactive=False)

    async def main() -> None:
        async with memory(room.serve) as c:
            others = asyncio.ensure_future(other_player())
            await LineMode(c, ADDRESS, "r", lines, run.output).run()
            await others

    run_virtual(main())
    assert re.findall(r"Crosses: \w\d", run.data) == ["Crosses: b2", "Crosses: c2", "Crosses: a2"]
    assert run.messages.count("error: ") == 2  # and the claim of a draw, on the own turn


@pytest.mark.parametrize(
    ("lines", "state", "after_s"),
    [
        ((), "nobody joins", JOIN_S),
        (("b2", "q"), "nobody joins", JOIN_S),
        (("b2",), "the opponent has gone", RETURN_S),
        (("b2", "a2"), "the opponent has gone", RETURN_S),
        (("b2", "a2"), "the match may be claimed", 0),
        ((), "the own turn", 0),
    ],
)
def test_a_pipe_that_has_ended_is_not_waited_on_for_ever(
    lines: tuple[str, ...], state: str, after_s: float
) -> None:
    """After the end of the input the run ends too where this player's turn will hardly come, and
    at once where a further line would be executed.
    """
    room = FakeRoom(seats=(MySeat(), OpenSeat()))
    ended_s = 0.0

    async def main() -> None:
        nonlocal ended_s
        loop = asyncio.get_running_loop()
        typed = TypedLines(*lines).end()
        async with memory(room.serve) as c:
            mode = LineMode(c, ADDRESS, "r", typed, CapturedOutput(interactive=False).output)
            running = asyncio.ensure_future(mode.run())
            await asyncio.sleep(5)  # all lines have been read
            if state != "nobody joins":
                await room.act(BOB, Sit(id="1", seat=1))
                await asyncio.sleep(1)
            if state in ("the opponent has gone", "the match may be claimed"):
                await room.send_presence(True, False)
            if state == "the match may be claimed":
                await room.send_may(*CLAIMS)
            since_s = loop.time() if state != "nobody joins" else 0.5 * (len(lines) + 1)
            with pytest.raises(InputEnded):
                await running
            ended_s = loop.time() - since_s

    run_virtual(main())
    assert after_s - 1 <= ended_s <= after_s + 1


def test_a_piped_input_without_an_end_is_waited_on() -> None:
    """A program that keeps the pipe open may wait for a friend as long as it likes."""
    room = FakeRoom(seats=(MySeat(), OpenSeat()))

    async def other_player(mode: LineMode) -> None:
        await asyncio.sleep(10 * RETURN_S)
        await room.act(BOB, Sit(id="1", seat=1))
        await asyncio.sleep(1)
        await room.act(BOB, Move(id="m1", ply=1, move="a1"))
        lines.type("resign")

    lines = TypedLines("b2")
    assert "1. Crosses: b2" in play(room, lines, other_player=other_player).data
