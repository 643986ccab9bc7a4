/**
 * The form that puts an AI on a free seat. The page loads this module for those who may do that.
 *
 * @import {App} from "../../shell/app.js"
 * @import {Room} from "../../shell/model.js"
 */

import { h } from "../../shell/elements.js";
import { PERSONAS, aiFields, parseStrategy, strategyChoice } from "../../shell/words.js";
import { drawDepth, knownStrategies, takesDepth } from "../../ui/strategies.js";

/**
 * The form that puts an AI on a seat. Its field for a depth is visible while a strategy is chosen that
 * takes one.
 * @param {App} app
 * @param {Room} room
 * @param {number} seat
 * @param {() => void} expectAi called when the user is about to use the form
 */
export function drawAiForm(app, room, seat, expectAi) {
    const { levels: count = 1, level_names: names = [] } = room.description ?? {};
    const levels = Array.from({ length: count }, (_, i) => i + 1);
    const defaultLevel = Math.ceil(levels.length / 2);
    const { titles, list } = knownStrategies(() => app.update());
    const submit = (/** @type {SubmitEvent} */ event) => {
        event.preventDefault();
        if (!(event.currentTarget instanceof HTMLFormElement)) return;
        const data = new FormData(event.currentTarget);
        const level = String(data.get("level"));
        const strategy = parseStrategy(level)?.strategy;
        const depth = strategy !== undefined && takesDepth(strategy, list) ? { depth: Number(data.get("depth")) } : null;
        void app.command({ t: "add_ai", room: room.id, seat, ...aiFields(level), ...depth });
    };
    const drawLevel = (/** @type {number} */ level) =>
        h("option", { value: level, selected: level === defaultLevel }, `Level ${level} ${names[level - 1] ?? ""}`.trim());
    // Beside the characters, one of which plays at random too.
    const strategies = Object.entries(titles).filter(([name]) => count === 0 || name !== "random").map(([name, title]) =>
        h("option", { value: strategyChoice(name), class: takesDepth(name, list) ? "takes-depth" : null }, title),
    );
    return h(
        "form",
        { class: "add-ai", onsubmit: submit, onpointerenter: expectAi, onfocusin: expectAi },
        h(
            "select",
            { name: "level", class: "small", "aria-label": "Level, character or strategy of the AI" },
            // A game without levels has no characters either: strategies play it.
            count > 0
                ? [
                      h("optgroup", { label: "Levels" }, levels.map(drawLevel)),
                      h("optgroup", { label: "Characters" }, Object.entries(PERSONAS).map(([key, { name }]) => h("option", { value: key }, name))),
                  ]
                : null,
            h("optgroup", { label: "Strategies" }, strategies),
        ),
        list ? drawDepth(list, null) : null,
        h("button", { class: "small", ...app.offline }, "Add AI"),
    );
}
