"""The room's settings, keys, tabs, sounds and notices."""

from collections.abc import AsyncIterator
from typing import Literal

import pytest
import pytest_asyncio
from playwright.async_api import Browser, expect

from server.commands import OpenSeat
from tests.support.browsers import DESKTOP, PHONE, Person, people
from tests.support.server_process import ServerProcess, serving

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]

#: Records the notes that the page plays, and the notices and the requests for permission.
RECORD = """
window.played = [];
const start = OscillatorNode.prototype.start;
OscillatorNode.prototype.start = function (...at) { played.push("note"); start.apply(this, at); };
window.Notification = class {
    static permission = "default";
    static requestPermission() {
        played.push("asked");
        Notification.permission = "granted";
        return Promise.resolve("granted");
    }
    constructor(title) { played.push(title); }
};
"""
#: Makes the page believe that it is in the background.
HIDE = "Object.defineProperty(document, 'hidden', { get: () => true })"
#: Whether an element is on top at its centre.
AT_ITS_CENTRE = """field => {
    field.scrollIntoView({ block: "end" });
    const { x, y, width, height } = field.getBoundingClientRect();
    return document.elementFromPoint(x + width / 2, y + height / 2) === field;
}"""


#: What a toast covers of the header, the players' bars, the status and the tabs, by their classes.
COVERED = """() => {
    const toast = document.querySelector(".toast:last-child").getBoundingClientRect();
    const needed = [...document.querySelectorAll(".top, .player, .state, .tabs")];
    return needed.filter((part) => {
        const { top, bottom, left, right } = part.getBoundingClientRect();
        return top < toast.bottom && toast.top < bottom && left < toast.right && toast.left < right;
    }).map((part) => part.className);
}"""

#: The width of a window from which on a room has no tabs (client/web/ui/tabs.js).
WIDE_PX = 1100
#: The least contrast between a piece, its fill or its outline, and a square.
LEAST_CONTRAST = 2.5
#: The least contrast between a square of the last move and one without a mark.
LEAST_MARK_CONTRAST = 1.8
#: The least contrast of the figure of a side with the bar of its player.
LEAST_FIGURE_CONTRAST = 3
#: The least contrasts on the board: of pieces with squares, and of marked squares with others; and
#: that of the chessmen in the players' bars.
CONTRAST = """() => {
    const canvas = document.createElement("canvas");
    const context = canvas.getContext("2d", { willReadFrequently: true });
    const luminance = (colour) => {
        context.fillStyle = colour;
        context.fillRect(0, 0, 1, 1);
        const [red, green, blue] = [...context.getImageData(0, 0, 1, 1).data].map(
            (value) => (value <= 10 ? value / 3295 : ((value / 255 + 0.055) / 1.055) ** 2.4));
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
    };
    const contrast = (one, other) => {
        const [low, high] = [luminance(one), luminance(other)].sort((a, b) => a - b);
        return (high + 0.05) / (low + 0.05);
    };
    const bodies = [...document.querySelectorAll("ply-board .piece")].map((piece) =>
        getComputedStyle(piece.querySelector("path, circle")));
    const grounds = [...document.querySelectorAll("ply-board .ground")].map(
        (ground) => getComputedStyle(ground).fill);
    const pairs = bodies.flatMap(({ fill, stroke }) =>
        [...new Set(grounds)].map((ground) =>
            Math.max(contrast(fill, ground), contrast(stroke, ground))));
    const marks = ["light", "dark"].flatMap((tone) => {
        const ground = document.querySelector(`ply-board .cell.${tone} .ground`);
        if (!ground) return [];
        const mark = ground.ownerSVGElement.appendChild(ground.parentNode.cloneNode(true));
        mark.setAttribute("class", `mark last on-${tone}`);
        mark.firstChild.setAttribute("class", "tint");
        const fill = getComputedStyle(mark.firstChild).fill;
        mark.remove();
        // The mark is painted after the ground, which may shine through.
        return [contrast(getComputedStyle(ground).fill, fill)];
    });
    // The figure beside a player's name: its rim counts if it is more than a line of grey pixels.
    const figures = [...document.querySelectorAll(".side-piece .sprite .shape")].map((shape) => {
        const { fill, stroke, strokeWidth } = getComputedStyle(shape);
        const ground = getComputedStyle(shape.closest(".player")).backgroundColor;
        const rim_px = parseFloat(strokeWidth) * shape.getScreenCTM().a;
        return Math.max(contrast(fill, ground), rim_px < 1.5 ? 0 : contrast(stroke, ground));
    });
    return [Math.min(...pairs), Math.min(...marks), Math.min(...figures, 21)];
}"""

#: The least contrast of a man in the picture of chess: of its brightest or darkest pixel with the
#: corner of its square, where no man is.
PICTURE_CONTRAST = """async (image) => {
    await image.decode();
    const size = 240;
    const canvas = document.createElement("canvas");
    canvas.width = canvas.height = size;
    const context = canvas.getContext("2d", { willReadFrequently: true });
    context.drawImage(image, 0, 0, size, size);
    const { data } = context.getImageData(0, 0, size, size);
    const luminance = (x, y) => {
        const [red, green, blue] = [...data.slice(4 * (y * size + x), 4 * (y * size + x) + 3)].map(
            (value) => (value <= 10 ? value / 3295 : ((value / 255 + 0.055) / 1.055) ** 2.4));
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
    };
    const contrast = (one, other) =>
        (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05);
    const cell = size / 8;
    const ofSquare = (row, column) => {
        const [left, top] = [Math.round(column * cell), Math.round(row * cell)];
        const ground = luminance(left + 3, top + 3);
        const pixels = [];
        for (let y = top + 3; y < top + cell - 3; y++)
            for (let x = left + 3; x < left + cell - 3; x++) pixels.push(luminance(x, y));
        return Math.max(...pixels.map((pixel) => contrast(pixel, ground)));
    };
    const rows = [0, 1, 6, 7];
    return Math.min(...rows.flatMap((row) => [...Array(8).keys()].map((i) => ofSquare(row, i))));
}"""


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def server(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[ServerProcess]:
    async with serving(tmp_path_factory.mktemp("settings") / "data") as server:
        yield server


async def test_a_room_of_chess_fits_every_screen_obeys_keys_and_keeps_its_settings(
    chromium: Browser, server: ServerProcess
) -> None:
    """The board comes first: with the status it fits the window, and it takes three quarters of the
    window's side. `f` turns the board, also when the board has the focus; `?` opens the list of
    keys. The board and piece themes, coordinates and animation are chosen in a menu, apply at once
    and outlive a reload.
    """
    async with people(chromium, server.url, DESKTOP) as (ada,):
        await ada.open_room("chess", OpenSeat())
        await assert_board_comes_first(ada)
        await turn_board_by_keys(ada)
        await choose_settings(ada)


async def assert_board_comes_first(ada: Person) -> None:
    for width, height in ((1024, 768), (768, 1024), (390, 844), (844, 390), (1280, 800)):
        await ada.page.set_viewport_size({"width": width, "height": height})
        tabs = ada.page.get_by_role("tablist")
        await expect(tabs).to_have_count(0 if width >= WIDE_PX else 1)
        for part in (ada.board, ada.status):
            await expect(part).to_be_in_viewport(ratio=1)
        box = await ada.board.bounding_box()
        assert box is not None
        assert min(box["width"], box["height"]) >= 0.75 * min(width, height), (width, height)


async def turn_board_by_keys(ada: Person) -> None:
    top = ada.page.locator(".player").first
    before = await top.get_attribute("data-seat")
    await ada.page.keyboard.press("f")
    await expect(top).not_to_have_attribute("data-seat", before or "")
    await ada.cell("e4").focus()
    await ada.page.keyboard.press("f")
    await expect(top).to_have_attribute("data-seat", before or "")
    await ada.page.keyboard.press("?")
    await expect(ada.page.get_by_role("dialog", name="Keys")).to_contain_text("flip the board")
    await ada.page.keyboard.press("Escape")
    await expect(ada.page.get_by_role("dialog")).to_have_count(0)


async def choose_settings(ada: Person) -> None:
    ground = "getComputedStyle(document.querySelector('ply-board .dark .ground')).fill"
    wood = await ada.page.evaluate(ground)
    await ada.button("Board and pieces").click()
    for choice in ("Slate", "Bold, with marks", "Hidden", "Off"):
        await ada.page.locator("dialog label", has_text=choice).click()
    slate = await ada.page.evaluate(ground)
    assert slate != wood
    await ada.button("Close").click()
    await expect(ada.button("Board and pieces")).to_be_focused()
    await ada.reload()
    assert await ada.page.evaluate(ground) == slate
    chosen = await ada.page.evaluate("({...document.documentElement.dataset})")
    assert chosen == {
        "board": "slate", "pieces": "bold", "coordinates": "off", "animation": "off"
    }  # fmt: skip
    await expect(ada.page.locator("ply-board .labels")).to_be_hidden()


async def test_pieces_are_visible_in_both_themes(chromium: Browser, server: ServerProcess) -> None:
    """Each side's pieces differ from the squares of both colours, by their fill or outline, and the
    squares of the last move from the others. So do the chessmen in the players' bars, and each man
    in the lobby's picture of chess from its square, when the page is opened in a theme.
    """
    schemes: tuple[Literal["light", "dark"], ...] = ("light", "dark")
    async with people(chromium, server.url, {**DESKTOP, "color_scheme": "light"}) as (ada,):
        for game in ("chess", "draughts"):
            await ada.open_room(game, OpenSeat())
            await ada.page.locator("ply-board .piece").first.wait_for()
            for scheme in schemes:
                await ada.page.emulate_media(color_scheme=scheme)
                pieces, marks, figures = await ada.page.evaluate(CONTRAST)
                assert pieces >= LEAST_CONTRAST, (game, scheme)
                assert marks >= LEAST_MARK_CONTRAST, (game, scheme)
                assert figures >= LEAST_FIGURE_CONTRAST, (game, scheme)
            await ada.page.emulate_media(color_scheme="light")
        for scheme in schemes:
            await ada.page.emulate_media(color_scheme=scheme)
            await ada.go("/")
            card = ada.page.locator(".game-card").filter(has=ada.button("Chess"))
            picture = card.locator("img.thumbnail")
            assert await picture.evaluate(PICTURE_CONTRAST) >= LEAST_CONTRAST, scheme


async def test_tabs_mark_new_lines_of_chat_and_the_bell_rings(
    chromium: Browser, server: ServerProcess
) -> None:
    """On a phone the cards are tabs. The mark of new lines appears while another tab is open, and
    goes when the chat is opened. A toast covers neither the chat's field nor the header, whose turn
    it is or the status.

    Sounds are off at first. The bell asks for the permission to show notices, and is kept. A notice
    appears only when it is the player's turn and the page is hidden.
    """
    async with people(chromium, server.url, PHONE, {**DESKTOP}) as (ada, bob):
        await bob.page.add_init_script(RECORD)
        await ada.open_room("tic-tac-toe", OpenSeat())
        await bob.page.goto(ada.page.url)
        await bob.chat("hello")
        await expect(ada.page.get_by_role("tab", name="Chat (new)")).to_be_visible()
        await ada.page.get_by_role("tab", name="Moves").focus()
        await ada.page.keyboard.press("ArrowRight")
        await expect(ada.page.get_by_role("tab", name="Chat", exact=True)).to_be_focused()
        await expect(ada.page.get_by_role("tabpanel")).to_contain_text("hello")
        await bob.button("Sit here").click()
        await ada.page.locator(".toast", has_text="joined").wait_for()
        assert await ada.page.evaluate(COVERED) == []
        assert await ada.page.get_by_label("Say something").evaluate(AT_ITS_CENTRE)
        assert await bob.page.get_by_role("tab").count() == 0

        await ada.play("b2")
        await bob.play("a1")
        assert await bob.page.evaluate("played") == []
        await bob.button("Sounds and notices").click()
        # A sample of two notes, which waits for the module of sounds.
        await bob.until("played.length >= 3")
        assert sorted(await bob.page.evaluate("played.splice(0)")) == ["asked", "note", "note"]
        await ada.play("c3")
        await bob.wait_for_turn()
        await bob.until("played.length >= 3")
        assert await bob.page.evaluate("played.splice(0)") == ["note", "note", "note"]
        await bob.play("a3")
        await bob.page.evaluate(HIDE)
        await ada.play("a2")
        await bob.wait_for_turn()
        await bob.until("played.includes('Your turn')")
        await bob.reload()
        await expect(bob.button("Sounds and notices")).to_have_attribute("aria-pressed", "true")
