"""Plays legal moves of any game: by clicks in a browser, or by typing in a terminal."""

from tests.support.browsers import Person
from tests.support.pseudo_terminal import Screen

#: The terminal's prompt after a match.
OVER = "rematch or quit"

# This script runs in the page and works on every board. It presses each cell on the path of a move,
# and if the page then asks which move is meant, it chooses the move. Labels without cells are
# buttons.
DRIVER = """async ([seed, max_moves, timeout_ms]) => {
    const board = document.querySelector("ply-board");
    board.setPointerCapture = () => {}; // scripted events have no pointer to capture
    const random = () => {
        seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0;
        return seed / 2 ** 32;
    };
    const press = (cell) => {
        const selector = `[role=gridcell][data-cell="${CSS.escape(cell)}"] .ground`;
        const ground = board.querySelector(selector);
        const { x, y, width, height } = ground.getBoundingClientRect();
        const [clientX, clientY] = [x + width / 2, y + height / 2];
        const options = { clientX, clientY, pointerId: 1, button: 0, bubbles: true };
        for (const type of ["pointerdown", "pointerup"]) {
            board.dispatchEvent(new PointerEvent(type, options));
        }
    };
    const buttons = () => [...board.querySelectorAll(".beside button")];
    const pressElement = (element, { targets = {} }, pieces) => {
        const cells = targets[element];
        if (cells === undefined) press(element);
        else if (cells.length > 0) press(cells.find((cell) => !(cell in pieces)) ?? cells[0]);
        else buttons().find((button) => button.dataset.label === element).click();
    };
    const until = async (holds, what) => {
        const end = performance.now() + timeout_ms;
        while (!holds()) {
            if (performance.now() > end) throw new Error(`${what}: not within ${timeout_ms} ms`);
            await new Promise((resolve) => setTimeout(resolve, 4));
        }
    };
    const over = () => document.querySelector(".state.over") !== null;
    let played = 0;
    while (played < max_moves) {
        const isMyTurn = () => board.scene.moves.length > 0 && !board.scene.pending;
        await until(() => over() || isMyTurn(), "my turn");
        if (over()) break;
        const { moves, board: view, position } = board.scene;
        const move = moves[Math.floor(random() * moves.length)];
        for (const element of move.path) pressElement(element, view, position.pieces);
        const path = move.path.join(" ");
        if (moves.filter((each) => each.path.join(" ") === path).length > 1) {
            const choice = () => document.querySelector("dialog.choice[open]");
            await until(choice, `the choice at the end of the path ${path}`);
            choice().querySelector(`button[value="${CSS.escape(move.id)}"]`).click();
        }
        const isPlayed = () => board.scene.moves !== moves;
        await new Promise((resolve) => setTimeout(resolve));
        // If the path is the beginning of longer paths, a second press on its end plays the move.
        if (!isPlayed()) press(move.path.at(-1));
        await until(isPlayed, `the move ${move.id} with the path ${path}`);
        played += 1;
    }
    return played;
}"""


async def play_by_clicks(person: Person, max_moves: int, seed: int = 1) -> int:
    """Plays up to `max_moves` legal moves by clicks, or to the end; returns their number."""
    return int(await person.page.evaluate(DRIVER, [seed, max_moves, 60_000]))


# The clickable cells, or none once the list of moves has grown. It must ask for both at once:
# between two questions the AI may reply, and a click would then select a piece for the next move.
CLICKABLE = """before => {
    if (document.querySelectorAll(".moves .move").length > before) return [];
    return [...document.querySelectorAll("ply-board .cell.next")].map((cell) => cell.dataset.cell);
}"""


async def play_with_pointer(person: Person, max_moves: int) -> None:
    """Plays `max_moves` moves with a mouse or a finger, or fewer if the match ends.

    For each move it clicks clickable cells until the page plays a move.
    """
    over = person.page.locator(".state.over")
    has_touch = bool(await person.page.evaluate("matchMedia('(pointer: coarse)').matches"))
    for _ in range(max_moves):
        await over.or_(person.page.locator("ply-board.playable")).wait_for()
        if await over.count():
            return
        before = len(await person.moves())
        clicked: set[str] = set()
        while True:
            cells: list[str] = await person.page.evaluate(CLICKABLE, before)
            remaining = [cell for cell in cells if cell not in clicked]
            if not remaining:
                break
            clicked.add(remaining[0])
            ground = person.page.locator(f"ply-board [data-cell='{remaining[0]}'] .ground")
            await (ground.tap(force=True) if has_touch else ground.click(force=True))
            confirm = person.page.locator("ply-board .beside button.only")
            if has_touch and await confirm.count():
                await confirm.tap()
            await person.page.wait_for_timeout(0)
        # The card of the moves may be behind another tab.
        await person.page.locator(".moves .move").nth(before).wait_for(state="attached")


def play_by_typing(screen: Screen, max_moves: int) -> int:
    """Types up to `max_moves` moves that the terminal lists; returns their number."""
    played = 0
    while played < max_moves:
        prompt = screen.expect_one("Your move", OVER)
        if prompt == OVER:
            break
        screen.type("moves")
        screen.expect("Moves: ")
        tokens = screen.expect("\n").strip().split(", ")
        screen.expect("Your move")
        screen.type(tokens[(7 * played) % len(tokens)])
        played += 1
    return played
