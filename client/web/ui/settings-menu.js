/**
 * The menu of the settings for boards. A choice applies at once, and the board beside the menu shows
 * it.
 *
 * @import {SettingName} from "../shell/settings.js"
 */

import { openDialog } from "./dialogs.js";
import { h } from "../shell/elements.js";
import { SETTING_VALUES, changeSetting, setting } from "../shell/settings.js";

/** The settings of the menu with their texts. @type {[SettingName, string, Record<string, string>][]} */
const GROUPS = [
    ["board", "Board", { wood: "Wood", slate: "Slate", contrast: "High contrast" }],
    ["pieces", "Pieces", { classic: "Classic", bold: "Bold, with marks" }],
    ["coordinates", "Coordinates", { on: "Shown", off: "Hidden" }],
    ["animation", "Animation", { on: "On", off: "Off" }],
];

/**
 * Opens the menu; `redraw` draws the page again after a choice.
 * @param {() => void} redraw
 */
export async function openSettings(redraw) {
    const change = (/** @type {Event} */ event) => {
        if (!(event.target instanceof HTMLInputElement)) return;
        changeSetting(/** @type {SettingName} */ (event.target.name), event.target.value);
        redraw();
    };
    await openDialog({
        title: "Board and pieces",
        name: "settings",
        content: h("div", { class: "groups", onchange: change }, GROUPS.map(drawGroup)),
        buttons: h("button", { class: "main" }, "Close"),
    });
}

/** @param {[SettingName, string, Record<string, string>]} group */
function drawGroup([name, title, texts]) {
    const choices = SETTING_VALUES[name].map((value) =>
        h(
            "label",
            { class: "choice" },
            h("input", { type: "radio", name, value, checked: setting(name) === value }),
            h("span", null, texts[value]),
        ),
    );
    return h("fieldset", null, h("legend", null, title), choices);
}
