/** The dialog that lists the keys of a match. */

import { openDialog } from "./dialogs.js";
import { h } from "../shell/elements.js";

/** The keys and what they do. @type {[string[], string][]} */
const KEYS = [
    [["Tab"], "to the board, the buttons and the tabs"],
    [["←", "↑", "→", "↓"], "on the board: to the next cell"],
    [["Enter"], "on the board: choose the cell"],
    [["Esc"], "on the board: cancel a move that is not complete"],
    [["←", "→"], "elsewhere: the previous or next position"],
    [["Home", "End"], "the first or last position"],
    [["f"], "flip the board"],
    [["?"], "this list"],
];

/**
 * Opens the list of keys.
 * @param {[string[], string][]} [more] keys of one page, which are listed before the last one
 */
export async function openKeysHelp(more = []) {
    const rows = [...KEYS.slice(0, -1), ...more, ...KEYS.slice(-1)].map(([keys, text]) => [
        h("dt", null, keys.map((key) => h("kbd", null, key))),
        h("dd", null, text),
    ]);
    await openDialog({
        title: "Keys",
        name: "keys",
        content: h("dl", { class: "keys-list" }, rows),
        buttons: h("button", { class: "main", autofocus: true }, "Close"),
    });
}
