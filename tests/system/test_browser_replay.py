"""A match is analysed and played differently in a real browser; the list of matches."""

import re
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Locator, expect

from server.commands import AiSeat
from tests.support.browser import watch_faults
from tests.support.browsers import DESKTOP, PHONE, Person, people
from tests.support.server_process import ServerProcess, serving
from tests.system.test_browser_lessons import school
from tests.system.test_browser_pages import assert_fits, audit

pytestmark = [
    pytest.mark.browser,
    pytest.mark.asyncio(loop_scope="session"),
    pytest.mark.usefixtures("warm_engine"),
]

#: The moves of a person who gives the queen away: the first one of each line that is legal.
MOVES = (("e2 e4",), ("d1 h5",), ("h5 f7", "h5 g6", "a2 a3"))
#: The colour of the page, which a theme sets.
BACKGROUND = "getComputedStyle(document.documentElement).backgroundColor"
#: The name of a move with a mark, for screen readers.
MARKED = re.compile(r", (inaccuracy|mistake|blunder)$")


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def server(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[ServerProcess]:
    async with serving(
        tmp_path_factory.mktemp("replay") / "data", workers=2, ai_pace_ms=0
    ) as server:
        yield server


#: Records each state of the analysis that the page draws: how many positions are done, then "done".
RECORD_GROWTH = """() => {
    window.growth = [];
    new MutationObserver(() => {
        const bar = document.querySelector(".analysis progress");
        const state = bar ? bar.value : document.querySelector(".summary") ? "done" : null;
        if (state !== null && state !== window.growth.at(-1)) window.growth.push(state);
    }).observe(document.body, { subtree: true, childList: true, attributes: true });
}"""


async def ask_for_help(ada: Person) -> None:
    """Turns the coach on in the chat, and presses the button for a hint until arrows show it."""
    await ada.wait_for_turn()
    await ada.page.get_by_label("Say something").focus()
    await ada.page.keyboard.type("/coach on")
    await ada.page.keyboard.press("Enter")
    answers = ada.page.locator(".chat .answer")
    await expect(answers).to_contain_text("The coach watches your moves")
    await expect(ada.page.locator(".chat .pulse")).to_have_count(0)
    arrows = ada.page.locator("ply-board .arrow")
    await expect(arrows).to_have_count(0)
    await ada.button("Hint").click()
    await expect(ada.page.locator(".hint")).to_contain_text("Look at the ")
    await ada.button("Show the move").click()
    await expect(ada.page.locator(".hint")).to_contain_text("The best move is")
    await expect(arrows).to_have_count(1)
    await ada.button("Show the best moves").click()
    await expect(arrows).to_have_count(3)


async def give_the_queen_away(ada: Person) -> None:
    """Plays MOVES; the arrows of the hint end with the first one, and the coach speaks."""
    for turn, paths in enumerate(MOVES):
        await ada.wait_for_turn()
        for source, target in map(str.split, paths):
            await ada.cell(source).click()
            if await ada.page.locator(f"ply-board .cell.next[data-cell={target}]").count():
                await ada.cell(target).click()
                break
            await ada.page.keyboard.press("Escape")
        await ada.page.locator(".moves .move").nth(2 * turn).wait_for()
        await expect(ada.page.locator("ply-board .arrow")).to_have_count(0)
    await ada.wait_for_turn()
    await expect(ada.page.locator(".chance-bar")).to_be_visible()
    await expect(ada.page.locator(".chat .answer", has_text="Coach: ").last).to_be_visible()


async def resign_and_analyse(ada: Person) -> None:
    """Resigns, and watches the analysis grow until it is done."""
    await ada.button("Resign").click()
    await ada.button("Resign now").click()
    await ada.page.evaluate(RECORD_GROWTH)
    await ada.page.get_by_role("link", name="Analyse", exact=True).click()
    await expect(ada.page.locator(".summary")).to_contain_text("Accuracy")
    *growing, end = await ada.page.evaluate("growth")
    plies = len(await ada.page.locator(".moves .move").all())
    assert end == "done"
    assert growing == sorted(growing)
    assert any(0 < done < plies + 1 for done in growing)


async def look_at_the_mistakes(ada: Person) -> None:
    """Goes through the mistakes, a better line and the match by keyboard, and by the graph."""
    address = ada.page.url.partition("?")[0]
    await expect(ada.page.locator(".turning-point").first).to_be_visible()
    await ada.page.keyboard.press("End")
    await ada.page.keyboard.press("p")
    await expect(ada.page.locator(".moves .move.shown")).to_have_accessible_name(MARKED)
    await expect(ada.page.locator(".verdict")).to_contain_text("chance to win falls from")
    before = await ada.pieces()
    await ada.page.keyboard.press("b")
    line = ada.page.locator(".line-moves .move")
    await expect(line.first).to_have_attribute("aria-current", "step")
    await ada.page.keyboard.press("ArrowRight")
    await expect(line.nth(1)).to_have_attribute("aria-current", "step")
    assert await ada.pieces() != before
    assert await audit(ada.page) == []
    await expect(ada.page.locator(".thinking .candidate")).to_have_count(0)
    size = ada.page.viewport_size
    assert size is not None
    await ada.page.set_viewport_size({"width": 844, "height": 390})
    await expect(ada.page.get_by_role("tab").first).to_be_visible()
    await expect(ada.page.locator(".player").last).to_be_in_viewport(ratio=1)
    await ada.page.set_viewport_size(size)
    await ada.page.keyboard.press("Escape")
    assert await ada.pieces() == before
    await ada.page.locator(".chance-graph [role=slider]").click(position={"x": 2, "y": 40})
    await expect(ada.status).to_have_text("Start position")
    await expect(ada.page).to_have_url(f"{address}?ply=0")
    await ada.page.keyboard.press("Space")
    await expect(ada.button("Stop")).to_be_visible()
    await expect(ada.status).to_contain_text(re.compile(r"^\d\.+ "))  # each move has its time only
    point = ada.page.locator(".turning-point").last
    await point.click()
    await expect(ada.button("Play the moves")).to_be_visible()
    await expect(point).to_have_attribute("aria-current", "step")
    await expect(ada.page.locator(".moves .move.shown")).to_have_accessible_name(MARKED)


async def play_the_blunder_differently(ada: Person) -> None:
    """Plays on against the AI from before the player's worst move, with another move.

    After the move, with the other side to move, one's own side is offered first.
    """
    own = ada.page.locator(".moves .move[aria-label^=White]")
    blunder = own.filter(has=ada.page.locator(".mark-blunder")).first
    await expect(blunder).to_contain_text("??")
    await blunder.click()
    await ada.page.keyboard.press("ArrowLeft")
    await expect(blunder).not_to_contain_class("shown")
    before = await ada.pieces()
    await ada.page.keyboard.press("ArrowRight")
    await ada.button("Play on from here").click()
    await expect(ada.page.get_by_role("radio", name="Black (to move)")).not_to_be_checked()
    await expect(ada.page.get_by_role("radio", name="White", exact=True)).to_be_checked()
    await ada.page.keyboard.press("Escape")
    await ada.button("Play it differently").click()
    await expect(ada.page.get_by_role("dialog")).to_contain_text("the position before")
    await expect(ada.page.get_by_role("radio", name="White (to move)")).to_be_checked()
    await expect(ada.page.get_by_role("combobox", name="Level of the AI")).to_have_value("3")
    await ada.button("Play").click()
    await ada.page.wait_for_url("**/room/*")
    await ada.wait_for_turn()
    await ada.board.wait_for()
    assert await ada.pieces() == before
    await ada.cell("h2").click()
    await ada.play("h3")
    await ada.wait_for_turn()


async def print_the_match(ada: Person) -> None:
    """On paper the match has its head, the board, the analysis and all moves, and no controls."""
    await ada.page.emulate_media(media="print")
    title = ada.page.locator(".print-title")
    await expect(title).to_have_text(re.compile(r"^Chess: .+ \u2013 AI level 3$"))
    for part in ("ply-board", ".summary", ".chance-graph", ".turning-point >> nth=0"):
        await expect(ada.page.locator(part)).to_be_visible()
    moves = ada.page.locator(".moves .move")
    await expect(moves.last).to_be_visible()
    assert await moves.evaluate_all("(all) => all.every((each) => each.checkVisibility())")
    for control in (".top", ".state", ".tabs", ".info", ".thinking"):
        await expect(ada.page.locator(control).first).to_be_hidden()
    await ada.page.emulate_media(media="screen")
    await expect(title).to_be_hidden()


async def download(reader: Person, label: str) -> str:
    """Downloads a file of the shown match in two clicks; returns its text."""
    await reader.button("Download").click()
    async with reader.page.expect_download() as coming:
        await reader.page.get_by_role("link", name=label).click()
    file = await (await coming.value).path()
    assert await audit(reader.page) == []
    await reader.button("Close").click()
    return file.read_text("utf-8")


async def look_at_the_frame(chromium: Browser, url: str, address: str) -> None:
    """Another site shows the match in a frame: it steps by keys, sets no cookie, opens no socket,
    and passes axe in both themes.
    """
    path = address.removeprefix(url)
    context = await chromium.new_context(**DESKTOP, color_scheme="light")
    page = await context.new_page()
    faults, sockets = watch_faults(page), []
    page.on("websocket", lambda socket: sockets.append(socket.url))
    async with school(url, {"/blog": f"/embed{path}?ply=1"}) as site:
        await page.goto(f"{site}/blog")
        frame = page.frame_locator("iframe")
        shown = frame.locator(".moves [aria-current]")
        await expect(shown).to_contain_text("b2")
        await expect(frame.locator(".won")).to_have_count(0)
        await shown.click()
        await page.keyboard.press("ArrowRight")
        await expect(frame.locator(".won")).to_have_text("won")
        await expect(frame.locator(".result")).to_contain_text("resigned")
        await page.keyboard.press("Home")
        await expect(frame.locator("ply-board .piece")).to_have_count(0)
    await page.goto(f"{url}/embed{path}")
    await expect(page.locator(".result")).to_be_visible()
    assert await audit(page) == []
    light = await page.evaluate(BACKGROUND)
    await page.emulate_media(color_scheme="dark")
    assert await page.evaluate(BACKGROUND) != light
    assert await audit(page) == []
    assert (await context.cookies(), sockets, faults) == ([], [], [])
    await context.close()


async def test_a_player_learns_from_a_match(chromium: Browser, server: ServerProcess) -> None:
    """A player asks for hints and the coach in a match, watches its analysis grow, opens the worst
    mistake and plays on from before it against the AI.

    The page can be printed, fits and passes axe. A second reader on a phone sees the same analysis
    at once.
    """
    async with people(chromium, server.url, DESKTOP, PHONE) as (ada, kim):
        await ada.open_room("chess", AiSeat(3))
        await ask_for_help(ada)
        await give_the_queen_away(ada)
        await resign_and_analyse(ada)
        assert await audit(ada.page) == []
        await assert_fits(ada, in_height=True)
        await print_the_match(ada)
        await look_at_the_mistakes(ada)
        address = ada.page.url.partition("?")[0]
        await play_the_blunder_differently(ada)
        await kim.page.goto(f"{address}?ply=5")
        await kim.open_tab("Analysis")
        await expect(kim.page.locator(".summary")).to_contain_text("Accuracy")
        await assert_fits(kim, in_height=False)
        assert await audit(kim.page) == []
        await kim.open_tab("Moves")
        words = (await download(kim, "PGN")).split()  # a line may end between any two of them
        assert words[-3:] == ["White", "resigned}", "0-1"]
        assert [*ada.faults, *kim.faults] == []


async def test_the_address_filters_the_list_of_matches(
    chromium: Browser, server: ServerProcess
) -> None:
    """A choice filters the list and changes the address, which shows the same list again.

    From the end of a match three clicks lead to its file, which the list has too. A frame of
    another site shows the match, in both themes.
    """
    async with people(chromium, server.url, {**DESKTOP}) as (ada,):

        def choice(name: str) -> Locator:
            return ada.page.get_by_role("combobox", name=name, exact=True)

        await ada.open_room("tic-tac-toe", AiSeat(1))
        await ada.play("b2")
        await ada.button("Resign").click()
        await ada.button("Resign now").click()
        await ada.page.locator(".state.over").wait_for()
        await ada.page.get_by_role("link", name="Replay", exact=True).click()
        text = await download(ada, "PGN")
        assert '[Game "tic-tac-toe"]' in text
        address = ada.page.url.partition("?")[0]
        await ada.button("Embed").click()
        code = ada.page.get_by_label("HTML of the frame")
        await expect(code).to_contain_text(
            f'src="{address.replace("/match/", "/embed/match/")}?ply='
        )
        assert await audit(ada.page) == []
        await ada.button("Close").click()
        await look_at_the_frame(chromium, server.url, address)
        await ada.go("/replays")
        row = ada.page.locator(".matches li")
        await row.first.wait_for()
        await choice("Player").select_option("Me")
        await choice("Result").select_option("Won")
        await expect(ada.page.get_by_text("No finished match fits this filter.")).to_be_visible()
        await choice("Result").select_option("Lost")
        await expect(row).to_have_count(1)
        await expect(ada.page).to_have_url(re.compile(r"/replays\?player=\w+&result=lost$"))
        await ada.button("Download these matches").click()
        async with ada.page.expect_download() as coming:
            await ada.page.get_by_role("link", name="PGN").click()
        assert (await (await coming.value).path()).read_text("utf-8") == text
        await ada.button("Close").click()
        assert await audit(ada.page) == []
        await ada.page.reload()
        await expect(row).to_have_count(1)
        await expect(choice("Result")).to_have_value("lost")
        await choice("Length").select_option("Over 30 moves each")
        await expect(row).to_have_count(0)
        await ada.button("Show all").click()
        await row.first.wait_for()
        await ada.go("/replays?min_plies=99999")
        await expect(choice("Length")).to_contain_text("At least 50000 moves each")
        await ada.button("Show my matches").click()
        await expect(row).to_have_count(1)
        await expect(ada.page).to_have_url(re.compile(r"/replays\?player=\w+$"))
        assert ada.faults == []
        await see_the_list_of_the_last_visit(ada)
        assert all("Failed to load resource" in fault for fault in ada.faults)
        ada.faults.clear()


async def see_the_list_of_the_last_visit(ada: Person) -> None:
    """Opens the list again while requests for it fail."""
    requests = re.compile(r"/api/matches\?")
    await ada.page.get_by_role("link", name="Replays", exact=True).click()
    await expect(ada.button("Download these matches")).to_be_visible()
    await ada.page.get_by_role("link", name="Lobby", exact=True).click()
    await ada.page.route(requests, lambda route: route.abort())
    await ada.page.get_by_role("link", name="Replays", exact=True).click()
    lost = ada.page.get_by_text("This list is from your last visit.")
    await expect(lost).to_be_visible()
    await expect(ada.button("Download these matches")).to_have_count(0)
    await ada.page.unroute(requests)
    await ada.button("Try again").click()
    await expect(lost).to_have_count(0)
    await expect(ada.button("Download these matches")).to_be_visible()
