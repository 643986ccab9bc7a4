/**
 * The text of a game's rules, in the form for a new room and in a dialog.
 *
 * @import {VNode} from "../shell/elements.js"
 */

import { listGames } from "../shell/api.js";
import { h, render } from "../shell/elements.js";

/**
 * Opens the dialog with the rules of a game, once: the user may press again while it is on its way.
 * @param {string} game
 * @param {string} title
 */
export async function openRules(game, title) {
    const games = await listGames().catch(() => []);
    const rules = games.find(({ id }) => id === game)?.rules ?? "The rules of this game are not available.";
    if (document.querySelector("dialog.rules[open]")) return;
    const dialog = document.createElement("dialog");
    dialog.className = "window rules";
    dialog.setAttribute("aria-labelledby", "rules-title");
    dialog.addEventListener("close", () => dialog.remove());
    dialog.addEventListener("click", (event) => event.target === dialog && dialog.close());
    render(
        dialog,
        h("h2", { id: "rules-title" }, title),
        h("div", { class: "text edge-shadow", tabindex: 0, role: "group", "aria-label": `Rules of ${title}` }, drawRules(rules)),
        h("form", { method: "dialog" }, h("button", { class: "main", autofocus: true }, "Close")),
    );
    document.body.append(dialog);
    dialog.showModal();
}

/**
 * The rules as paragraphs. Blank lines separate them; without blank lines a line that ends with a
 * sentence ends a paragraph.
 * @param {string} rules
 * @returns {VNode[]}
 */
export function drawRules(rules) {
    const text = rules.trim();
    const paragraphs = /\n\s*\n/.test(text) ? text.split(/\n\s*\n/) : text.split(/(?<=[.:!?])\s*\n/);
    return paragraphs.map((paragraph) => h("p", null, paragraph.replace(/\s*\n\s*/g, " ")));
}
