"""Play of any game by its legal moves: by clicks in a browser, by typing in a terminal."""

from playwright.async_api import expect

from tests.support.browsers import Person
from tests.support.pseudo_terminal import Screen

# This script runs in the page and uses only what every board has. It presses each cell on the path
# of a move, and answers if the page then asks which move is meant. Labels without cells are
# buttons.
DRIVER = """async ([seed, max_moves, timeout_ms]) => {
    const board = document.querySelector("ply-board");
    board.setPointerCapture = () => {}; // scripted events have no pointer to capture
    const chance = () => {
        seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0;
        return seed / 2 ** 32;
    };
    const press = (cell) => {
        const selector = `[role=gridcell][data-cell="${CSS.escape(cell)}"] .ground`;
        const ground = board.querySelector(selector);
        const { x, y, width, height } = ground.getBoundingClientRect();
        const [clientX, clientY] = [x + width / 2, y + height / 2];
        const at = { clientX, clientY, pointerId: 1, button: 0, bubbles: true };
        for (const type of ["pointerdown", "pointerup"]) {
            board.dispatchEvent(new PointerEvent(type, at));
        }
    };
    const buttons = () => [...board.querySelectorAll(".beside button")];
    const touch = (element, { targets = {} }, pieces) => {
        const cells = targets[element];
        if (cells === undefined) press(element);
        else if (cells.length > 0) press(cells.find((cell) => !(cell in pieces)) ?? cells[0]);
        else buttons().find((one) => one.dataset.label === element).click();
    };
    const until = async (holds, what) => {
        const end = performance.now() + timeout_ms;
        while (!holds()) {
            if (performance.now() > end) throw new Error(`${what} did not come`);
            await new Promise((resolve) => setTimeout(resolve, 4));
        }
    };
    const over = () => document.querySelector(".state.over") !== null;
    let played = 0;
    while (played < max_moves) {
        const mine = () => board.scene.moves.length > 0 && !board.scene.pending;
        await until(() => over() || mine(), "my turn");
        if (over()) break;
        const { moves, board: view, position } = board.scene;
        const move = moves[Math.floor(chance() * moves.length)];
        for (const element of move.path) touch(element, view, position.pieces);
        const asked = document.querySelector("dialog.choice");
        if (asked) asked.querySelector(`button[value="${CSS.escape(move.id)}"]`).click();
        const gone = () => board.scene.moves !== moves;
        await new Promise((resolve) => setTimeout(resolve));
        // A second click on its end finishes a path that is the beginning of longer ones.
        if (!gone()) press(move.path.at(-1));
        await until(gone, `${move.id}, which is ${move.path.join(" ")},`);
        played += 1;
    }
    return played;
}"""


async def play_by_clicks(person: Person, max_moves: int, seed: int = 1) -> int:
    """Plays up to `max_moves` legal moves by clicks, or to the end; returns their number."""
    return int(await person.page.evaluate(DRIVER, [seed, max_moves, 60_000]))


async def play_with_pointer(person: Person, moves: int) -> None:
    """Plays `moves` moves with a real mouse or finger, fewer if the match ends.

    For each it clicks cells that can be clicked, until a move is played.
    """
    over = person.page.locator(".state.over")
    tap = bool(await person.page.evaluate("matchMedia('(pointer: coarse)').matches"))
    for _ in range(moves):
        await expect(over.or_(person.page.locator("ply-board.playable"))).to_be_visible()
        if await over.count():
            return
        before = len(await person.moves())
        seen: set[str] = set()
        while len(await person.moves()) == before:
            cells: list[str] = await person.page.locator("ply-board .cell.next").evaluate_all(
                "cells => cells.map(cell => cell.dataset.cell)"
            )
            fresh = [cell for cell in cells if cell not in seen]
            if not fresh:
                break
            seen.add(fresh[0])
            ground = person.page.locator(f"ply-board [data-cell='{fresh[0]}'] .ground")
            await (ground.tap(force=True) if tap else ground.click(force=True))
            confirm = person.page.locator("ply-board .beside button.only")
            if tap and await confirm.count():
                await confirm.tap()
            await person.page.wait_for_timeout(0)
        await expect(person.page.locator(".moves .move").nth(before)).to_be_visible()


def play_by_typing(screen: Screen, max_moves: int) -> int:
    """Types up to `max_moves` moves that the terminal lists; returns their number."""
    played = 0
    while played < max_moves:
        asked = screen.expect_one("Your move (or help)", "rematch or quit")
        if asked == "rematch or quit":
            break
        screen.type("moves")
        screen.expect("Moves: ")
        tokens = screen.expect("\n").strip().split(", ")
        screen.expect("Your move (or help)")
        screen.type(tokens[(7 * played) % len(tokens)])
        played += 1
    return played
