"""A person's hands at a page: one uses only the mouse, the other only the keyboard."""

from collections.abc import Sequence
from typing import Any, ClassVar, Protocol

from playwright.async_api import Locator, Page, expect

#: How many times Tab is pressed at most until an element has the focus.
MAX_TABS = 400
#: Whether an element or one inside it has the focus.
HAS_FOCUS = "element => element.contains(document.activeElement)"
#: Scrolls to the control of a search with a name, and returns its middle.
MIDDLE = """name => {
    const button = document.querySelector(`.glass-controls [aria-label="${name}"]`);
    button.scrollIntoView({ block: "nearest" });
    const { x, y, width, height } = button.getBoundingClientRect();
    return [x + width / 2, y + height / 2];
}"""


class Hand(Protocol):
    """What a person does at a page, by one kind of input."""

    async def press(self, control: Locator) -> None:
        """Activates a link or a button."""

    async def choose(self, select: Locator, label: str) -> None:
        """Chooses an option of a list."""

    async def write(self, field: Locator, text: str) -> None:
        """Replaces the text of a field."""

    async def step(self, name: str) -> None:
        """Moves through a search by the control of that name."""

    async def press_cell(self, board: Locator, cell: str) -> None:
        """Activates a cell of a board."""


class Mouse:
    """Clicks; it types only text."""

    def __init__(self, page: Page) -> None:
        self._page = page

    async def press(self, control: Locator) -> None:
        await control.click()

    async def choose(self, select: Locator, label: str) -> None:
        # The list of a select is drawn by the system, out of the page's reach.
        await select.click()
        await select.select_option(label=label)

    async def write(self, field: Locator, text: str) -> None:
        await field.click(click_count=3)
        await field.press("Control+a")
        await self._page.keyboard.type(text)

    async def step(self, name: str) -> None:
        x, y = await self._page.evaluate(MIDDLE, name)
        await self._page.mouse.click(x, y)

    async def press_cell(self, board: Locator, cell: str) -> None:
        await board.locator(f"[role=gridcell][data-cell={cell}]").click()


class Keyboard:
    """Presses keys only: Tab until an element has the focus, then Enter."""

    #: The key of each control of a search.
    KEYS: ClassVar = {
        "Start: first step": "Home",
        "End: last step": "End",
        "One step forward": "ArrowRight",
        "One step back": "ArrowLeft",
        "Next node": "Shift+ArrowRight",
        "Next cut-off": "n",
    }

    def __init__(self, page: Page) -> None:
        self._page = page

    async def press(self, control: Locator) -> None:
        await self._tab_to(control)
        await self._page.keyboard.press("Enter")

    async def choose(self, select: Locator, label: str) -> None:
        await self._tab_to(select)
        labels: Sequence[str] = await select.locator("option").all_inner_texts()
        await self._page.keyboard.press("Home")
        for _ in range(labels.index(label)):
            await self._page.keyboard.press("ArrowDown")
        await expect(select.locator("option:checked")).to_have_text(label)

    async def write(self, field: Locator, text: str) -> None:
        await self._tab_to(field)
        await self._page.keyboard.press("Control+a")
        await self._page.keyboard.type(text)

    async def step(self, name: str) -> None:
        await self._page.keyboard.press(self.KEYS[name])

    async def press_cell(self, board: Locator, cell: str) -> None:
        await self._tab_to(board)
        focused = board.locator("[role=gridcell]:focus")
        for _ in range(MAX_TABS):
            at = str(await focused.get_attribute("data-cell"))
            if at == cell:
                break
            await self._page.keyboard.press(_way(at, cell))
        await self._page.keyboard.press("Enter")

    async def _tab_to(self, control: Locator) -> None:
        """Presses Tab until the control has the focus."""
        await expect(control).to_be_visible()
        for _ in range(MAX_TABS):
            if await control.evaluate(HAS_FOCUS):
                return
            await self._page.keyboard.press("Tab")
        raise AssertionError(f"no number of tabs reaches {control}")


def _way(at: str, cell: str) -> str:
    """Returns the arrow key that leads from a cell of a board towards another, White below."""
    if at[0] != cell[0]:
        return "ArrowRight" if at[0] < cell[0] else "ArrowLeft"
    return "ArrowUp" if int(at[1:]) < int(cell[1:]) else "ArrowDown"


#: The kinds of hands by name.
HANDS: dict[str, Any] = {"mouse": Mouse, "keyboard": Keyboard}
