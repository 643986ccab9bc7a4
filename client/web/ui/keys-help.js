/** The dialog that lists the keys of a page; those of a match are here. */

import { openDialog } from "./dialogs.js";
import { h } from "../shell/elements.js";
import { loadStyleSheet } from "../shell/style-sheets.js";

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
export function openKeysHelp(more = []) {
    return openKeysDialog([...KEYS.slice(0, -1), ...more, ...KEYS.slice(-1)]);
}

/**
 * Opens a list of keys. Rejects if its style sheet does not arrive.
 * @param {[string[], string][]} keys the keys and what they do
 */
export async function openKeysDialog(keys) {
    await loadStyleSheet("ui/sheets.css");
    const rows = keys.map(([names, text]) => [h("dt", null, names.map((name) => h("kbd", null, name))), h("dd", null, text)]);
    await openDialog({
        title: "Keys",
        name: "keys",
        content: h("dl", { class: "keys-list" }, rows),
        buttons: h("button", { class: "main", autofocus: true }, "Close"),
    });
}
