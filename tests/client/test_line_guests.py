"""Line mode: the user's name, and a claim after the opponent has gone."""

from client.terminal.line import LineMode
from tests.client.test_line import ADDRESS, CapturedOutput, TypedLines, play
from tests.support.fake_room import FakeRoom
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
