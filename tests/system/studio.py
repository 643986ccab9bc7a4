"""What the states of the screenshots have in common: a server with two visitors, and matches."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from playwright.async_api import expect

from tests.support.browsers import Person
from tests.support.server_process import ServerProcess


@dataclass(frozen=True)
class Studio:
    """A server with visitors: `ada` is on the screenshots, `bob` is another one."""

    server: ServerProcess
    ada: Person
    bob: Person


State = Callable[[Studio], Awaitable[None]]


async def show_room_with_ai(studio: Studio) -> None:
    """A match against the AI, after its first answer."""
    await studio.ada.create("Chess", "The AI", level=3, side="White")
    await studio.ada.wait_for_turn()
    await studio.ada.cell("e2").click()
    await studio.ada.cell("e4").click()
    await expect(studio.ada.page.locator(".moves .move").nth(1)).to_be_visible()


async def play_two(studio: Studio, game: str, *cells: str, time: str | None = None) -> None:
    """Lets Ada begin a match against Bob; a cell is a click of the player to move."""
    ada, bob = studio.ada, studio.bob
    await ada.create(game, "A friend", side="begins", time=time)
    await bob.page.goto(ada.page.url)
    await bob.page.get_by_role("button", name="Sit here").or_(bob.button("Play")).first.click()
    for ply, path in enumerate(cells):
        player = (ada, bob)[ply % 2]
        await player.wait_for_turn()
        for cell in path.split():
            await player.cell(cell).click()
        await expect(player.page.locator(".moves .move")).to_have_count(ply + 1)
