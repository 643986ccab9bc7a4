/**
 * Opens the dialogs whose modules are loaded when they are first opened.
 *
 * @import {App} from "../shell/app.js"
 * @import {VNode} from "../shell/elements.js"
 */

import { h } from "../shell/elements.js";
import { icon } from "../shell/icons.js";
import { loadStyleSheet } from "../shell/style-sheets.js";

/**
 * The button that opens the settings for boards.
 * @param {App} app
 * @returns {VNode}
 */
export function drawSettingsButton(app) {
    const label = "Board and pieces";
    const open = () =>
        load(app, import("./settings-menu.js"), ({ openSettings }) => void openSettings(() => app.update()));
    return h("button", { class: "icon-button small", "aria-label": label, title: label, onclick: open }, icon("gear"));
}

/**
 * The button that opens the rules of a game.
 * @param {App} app
 * @param {string} game
 * @param {string} title
 * @returns {VNode}
 */
export function drawRulesButton(app, game, title) {
    const label = `Rules of ${title}`;
    const open = () => load(app, import("./rules.js"), ({ openRules }) => void openRules(game, title));
    return h("button", { class: "small rules-button", title: label, "aria-label": label, onclick: open }, icon("book"), "Rules");
}

/**
 * Opens the list of keys.
 * @param {App} app
 * @param {[string[], string][]} [more] keys of this page alone, and what they do
 */
export function openKeysHelp(app, more) {
    load(app, import("./keys-help.js"), (module) => void module.openKeysHelp(more));
}

/**
 * Opens the dialog of a module when it has arrived.
 * @template Module
 * @param {App} app
 * @param {Promise<Module>} module
 * @param {(module: Module) => void} open
 */
function load(app, module, open) {
    const styled = Promise.all([module, loadStyleSheet("ui/edge-shadow.css"), loadStyleSheet("ui/sheets.css")]);
    styled.then(([loaded]) => open(loaded), () => app.missing());
}
