"""A teacher's hour: from the printed address to a lesson, the class's tree, homework, a sheet."""

import re
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Locator, Page, expect

from tests.support.browsers import DESKTOP, PHONE, people
from tests.support.server_process import NO_RATE_LIMITS, ServerProcess, serving

pytestmark = [
    pytest.mark.long,
    pytest.mark.browser,
    pytest.mark.asyncio(loop_scope="session"),
]

#: Counts the sheets that the page asks the browser to print.
COUNT_PRINTS = """() => {
    const { dataset } = document.documentElement;
    window.print = () => (dataset.printed = Number(dataset.printed ?? 0) + 1);
}"""
#: The tree of the class: B's first reply is worse for MAX than A, so its others are cut off.
TREE = "max(A: min(4, 7), B: min(3, 9, 8))"


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def server(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[ServerProcess]:
    data = tmp_path_factory.mktemp("teacher") / "data"
    async with serving(data, **NO_RATE_LIMITS) as server:
        yield server


async def activate_in_view(page: Page, control: Locator, *, touch: bool) -> None:
    """Clicks on a control, or taps it, which must be in the window without scrolling."""
    await expect(control).to_be_visible()
    assert await page.evaluate("scrollY") == 0
    await expect(control).to_be_in_viewport(ratio=1)
    await (control.tap() if touch else control.click())


@pytest.mark.parametrize(
    "screen", [pytest.param(DESKTOP, id="1280x800"), pytest.param(PHONE, id="390x844")]
)
async def test_a_teacher_s_hour(
    chromium: Browser, server: ServerProcess, screen: dict[str, Any]
) -> None:
    """Two clicks without scrolling lead from the printed address to the first lesson, and one from
    the list of lessons to the alpha cut.

    The class's own tree is a link that opens at the same step in another browser. Each tree and
    lesson of the hour prints on one sheet.
    """
    touch = screen is PHONE
    async with people(chromium, server.url, screen, PHONE) as (teacher, pupil):
        page = teacher.page
        await page.goto(server.url)
        await activate_in_view(
            page, page.get_by_role("link", name="Learn", exact=True), touch=touch
        )
        first = page.get_by_role("link", name="What is minimax?", exact=True)
        await activate_in_view(page, first, touch=touch)
        heading = page.get_by_role("heading", level=1)
        await expect(heading).to_have_text("What is minimax?")
        await page.get_by_role("link", name="All lessons").click()
        await page.get_by_role("link", name="8. Alpha cut").click()
        await expect(heading).to_have_text("Alpha cut")
        await page.keyboard.press("End")
        await expect(page.locator(".runs .sentence")).to_contain_text("It visited 4 of the 6")
        await page.get_by_role("link", name="All lessons").click()
        await page.get_by_role("link", name="Search a position or a tree of your own").click()
        link = await type_tree(page)
        sentence = await page.locator(".sentence").inner_text()
        await pupil.page.goto(link)
        await expect(pupil.page.locator(".sentence")).to_have_text(sentence)
        await expect(pupil.page.locator(".position")).to_contain_text("Step 6 of")


async def type_tree(page: Page) -> str:
    """Types the class's tree in the glass box and steps into it; returns the link to that step."""
    await expect(page.locator(".node.finished").first).to_be_attached()
    change = page.get_by_role("button", name="Change the search")
    if await change.count():
        await change.click()
    await page.get_by_label("Tree as text").fill(TREE)
    await expect(page.locator(".sentence")).to_contain_text("It visited 6 of the 8 nodes")
    await page.get_by_role("button", name="Hide the form").click()
    await page.keyboard.press("Home")
    for _ in range(6):
        await page.get_by_role("button", name="One step forward").click()
    field = page.get_by_role("textbox", name="Link to this step")
    await expect(field).to_have_value(re.compile("step=6"))
    return await field.input_value()


async def test_a_pupil_does_the_exercise_on_a_phone(
    chromium: Browser, server: ServerProcess
) -> None:
    """By touch alone: hints after a wrong answer, then all right; the card says "solved"."""
    async with people(chromium, server.url, PHONE) as (pupil,):
        page = pupil.page
        await page.goto(f"{server.url}/learn")
        await page.get_by_role("link", name="9. Beta cut").tap()
        figure = page.locator(".figure-exercise")
        await figure.locator("[data-leaf=F]").tap()
        await expect(figure.locator(".hints")).to_have_count(0)
        await figure.get_by_role("button", name="Check").tap()
        await expect(figure.locator(".hints li")).to_have_count(6)
        for label, value in (
            *(("Alpha at C2", "25"), ("Beta at C2", "20")),
            *(("Value that C2 returns", "25"), ("Value of the root", "20")),
        ):
            await figure.get_by_label(label).tap()
            await page.keyboard.type(value)
        await figure.get_by_label("The value of C2 is").select_option(">=")
        await figure.locator("[data-leaf=E]").tap()
        await figure.get_by_role("button", name="Check").tap()
        await expect(figure.get_by_text("All right")).to_be_visible()
        await page.get_by_role("link", name="All lessons").tap()
        card = page.get_by_role("link", name="9. Beta cut")
        await expect(card.locator(".score")).to_have_text("solved")


@pytest.mark.parametrize(
    ("name", "leaves"), [("alpha-cut", 4), ("beta-cut", 4), ("four-level-tree", 16), ("sticks", 4)]
)
async def test_a_lesson_is_printed(
    chromium: Browser, server: ServerProcess, name: str, leaves: int
) -> None:
    """A sheet is one page, or with answers at most two, has the address, and hides the answers."""
    async with people(chromium, server.url, DESKTOP) as (teacher,):
        page = teacher.page
        await teacher.go(f"/learn/{name}")
        await expect(page.locator(".runs, .figure-exercise").first).to_be_visible()
        await page.wait_for_load_state("networkidle")  # the button no longer moves
        await page.evaluate(COUNT_PRINTS)
        sheet = page.locator(".handout")
        for count, (button, most_pages) in enumerate(
            (("Print", 1), ("Print with answers", 2)), start=1
        ):
            await page.emulate_media(media="screen")
            await page.get_by_role("button", name=button, exact=True).click()
            await expect(page.locator("html")).to_have_attribute("data-printed", str(count))
            await page.emulate_media(media="print")
            await expect(page.locator(".page.lesson")).to_be_hidden()
            await expect(sheet.locator("footer")).to_have_text(f"{server.url}/learn/{name}")
            pdf = await page.pdf(format="A4")
            assert 1 <= pdf.count(b"/Type /Page\n") <= most_pages
            if button == "Print":
                await expect(sheet.locator(".figure-tree .leaf")).to_have_count(leaves)
                await expect(sheet.locator(".solution, .notes")).to_have_count(0)
                assert await sheet.locator(".line").count() >= 3
            else:
                await expect(sheet.locator(".solution").first).to_be_visible()
