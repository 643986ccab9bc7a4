/**
 * The list of a match's moves, and the buttons to step through them. A position is named by its ply:
 * 0 is the start, and `shown` is the ply on the board.
 *
 * @import {Played} from "../shell/protocol.js"
 * @import {VNode} from "../shell/elements.js"
 */

import { h } from "../shell/elements.js";
import { icon } from "../shell/icons.js";
import { moveNumber, moveText, numberedMove } from "../shell/words.js";

/**
 * @typedef {object} Moves
 * @property {Played[]} moves
 * @property {number} shown the ply on the board
 * @property {(ply: number) => void} go shows another ply
 * @property {string[]} sides the names of both sides, for screen readers
 * @property {string[]} [colours] the colours of both sides, shown where the sides do not alternate
 * @property {(ply: number) => {sign: string, word: string} | null} [markOf] the mark of the move after a ply
 * @property {string} [goal] the goal of the game, for a match without moves
 */

/**
 * @param {Moves} list
 * @returns {VNode}
 */
export function drawMoves({ moves, shown, go, sides, colours = [], markOf = () => null, goal = "" }) {
    const alternate = moves.every(({ seat }) => seat == null);
    const rows = rowsOf(moves).map((plies) => {
        const cells = plies.flatMap((ply) => [
            sharesNumber(moves, plies, ply) ? null : h("span", { class: "number" }, moveNumber(moves[ply], ply)),
            drawMove(moves, ply, shown, go, sides, alternate ? [] : colours, markOf(ply)),
        ]);
        const hasTwoNumbers = plies.length > 1 && !sharesNumber(moves, plies, plies[1] ?? 0);
        return h("li", { key: plies[0], class: hasTwoNumbers ? "two-numbers" : "" }, cells);
    });
    const empty = h("p", { class: "muted empty" }, `No move yet. ${goal}`);
    return h(
        "div",
        { class: "moves", role: "group", "aria-label": "Moves", tabindex: 0 },
        rows.length > 0 ? h("ol", null, rows) : empty,
    );
}

/**
 * The plies of each row. A row has two plies; a first row that begins with "1..." has one, and the
 * last row may have one.
 * @param {Played[]} moves
 * @returns {[number, ...number[]][]}
 */
export function rowsOf(moves) {
    /** @type {[number, ...number[]][]} */
    const rows = [];
    moves.forEach((_, ply) => {
        const row = rows.at(-1);
        if (row?.length === 1 && !moveNumber(moves[row[0]], row[0]).endsWith("...")) row.push(ply);
        else rows.push([ply]);
    });
    return rows;
}

/**
 * Whether a move shares the number of its row, as "3... Nf6" does beside "3. Bc4".
 * @param {Played[]} moves
 * @param {number[]} row
 * @param {number} ply
 */
function sharesNumber(moves, row, ply) {
    return ply !== row[0] && moveNumber(moves[ply], ply).endsWith("...");
}

/**
 * @param {Played[]} moves
 * @param {number} ply the ply of the position before the move
 * @param {number} shown the ply on the board
 * @param {(ply: number) => void} go
 * @param {string[]} sides
 * @param {string[]} colours
 * @param {{sign: string, word: string} | null} mark
 */
function drawMove(moves, ply, shown, go, sides, colours, mark) {
    const text = moveText(moves[ply]);
    const colour = colours[seatOf(moves, ply)] ?? null;
    const attributes = {
        class: ["move", ply + 1 === shown && "shown", colour && "of-side"],
        "--side": colour,
        "data-ply": ply + 1,
        "aria-label": `${sides[seatOf(moves, ply)] ?? ""}, ${numberedMove(moves[ply], ply)}${mark ? `, ${mark.word}` : ""}`,
        "aria-current": ply + 1 === shown ? "step" : null,
        onclick: () => go(ply + 1),
    };
    return h("button", attributes, text, mark ? h("span", { class: `sign mark-${mark.word}`, title: mark.word }, mark.sign) : null);
}

/**
 * The seat that played a move; the server names it where it is not the ply modulo 2.
 * @param {Played[]} moves
 * @param {number} ply
 * @returns {number}
 */
export function seatOf(moves, ply) {
    return moves[ply]?.seat ?? ply % 2;
}

/**
 * Scrolls the list to the shown move without moving the page.
 * @param {Element | null} list
 */
export function scrollToShown(list) {
    const move = list?.querySelector(".shown");
    if (!(list instanceof HTMLElement) || !(move instanceof HTMLElement)) {
        if (list) list.scrollTop = list.scrollLeft = 0;
        return;
    }
    const [inner, outer] = [move.getBoundingClientRect(), list.getBoundingClientRect()];
    if (inner.top < outer.top || inner.bottom > outer.bottom)
        list.scrollTop += inner.top - outer.top - (outer.height - inner.height) / 2;
    if (inner.left < outer.left || inner.right > outer.right)
        list.scrollLeft += inner.left - outer.left - (outer.width - inner.width) / 2;
}

/**
 * The buttons to step through a match. `head` is the last ply.
 * @param {{shown: number, head: number, go: (ply: number) => void}} stepper
 * @returns {VNode}
 */
export function drawStepper({ shown, head, go }) {
    const button = (
        /** @type {Parameters<typeof icon>[0]} */ name,
        /** @type {string} */ label,
        /** @type {number} */ ply,
        /** @type {boolean} */ disabled,
    ) =>
        h(
            "button",
            { class: "step", "aria-label": label, title: label, "aria-disabled": disabled, onclick: () => go(ply) },
            icon(name),
        );
    return h(
        "div",
        { class: "stepper", role: "group", "aria-label": "Step through the moves" },
        button("first", "First position", 0, shown <= 0),
        button("back", "Previous move", shown - 1, shown <= 0),
        button("forward", "Next move", shown + 1, shown >= head),
        button("last", "Last position", head, shown >= head),
    );
}

/**
 * The address of a position of a match in the glass box.
 * @param {string} match
 * @param {number} ply
 */
export function glassPath(match, ply) {
    return `/glass?match=${match}&ply=${ply}`;
}

/**
 * The link that opens a position of a match in the glass box.
 * @param {string} match
 * @param {number} ply
 * @returns {VNode}
 */
export function drawGlassLink(match, ply) {
    const title = "A search of this position, step by step";
    return h("a", { class: "button small glass-link", key: "glass", href: glassPath(match, ply), title }, "Open in the glass box");
}

/**
 * The ply that a key leads to, or null for other keys.
 * @param {string} key
 * @param {number} shown
 * @param {number} head
 * @returns {number | null}
 */
export function plyForKey(key, shown, head) {
    switch (key) {
        case "ArrowLeft":
            return Math.max(0, shown - 1);
        case "ArrowRight":
            return Math.min(head, shown + 1);
        case "Home":
            return 0;
        case "End":
            return head;
        default:
            return null;
    }
}
