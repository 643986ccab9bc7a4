/**
 * The strategies that may hold an AI seat, as the server lists them, and the field for their depth.
 *
 * @import {StrategyList} from "../shell/api.js"
 */

import { listStrategies } from "../shell/api.js";
import { h } from "../shell/elements.js";
import { STRATEGIES } from "../shell/words.js";

/** The server's list; null before it has arrived. @type {StrategyList | null} */
let list = null;
let isRequested = false;

/**
 * The strategies by name, with their titles, and the server's list; until it has arrived the list is
 * null and the strategies are those of every server. The first call requests the list.
 * @param {() => void} onLoad called when the list has arrived
 * @returns {{titles: Record<string, string>, list: StrategyList | null}}
 */
export function knownStrategies(onLoad) {
    if (!isRequested) {
        isRequested = true;
        listStrategies().then(
            (answer) => {
                list = answer;
                onLoad();
            },
            () => (isRequested = false),
        );
    }
    const others = (list?.strategies ?? []).filter(({ name }) => !Object.hasOwn(STRATEGIES, name));
    return { titles: { ...STRATEGIES, ...Object.fromEntries(others.map(({ name, title }) => [name, title])) }, list };
}

/**
 * Whether a seat may set the depth of a strategy; false before the list has arrived.
 * @param {string} strategy
 * @param {StrategyList | null} known
 */
export function takesDepth(strategy, known) {
    return known?.strategies.find(({ name }) => name === strategy)?.fixed_depth === null;
}

/**
 * The field for a depth in plies.
 * @param {StrategyList} known
 * @param {number | null} depth null for the server's default
 * @param {(depth: number) => void} [onChange] called with another depth that the server accepts
 */
export function drawDepth(known, depth, onChange) {
    const onInput = (/** @type {Event} */ { currentTarget }) => {
        if (currentTarget instanceof HTMLInputElement && currentTarget.reportValidity())
            onChange?.(currentTarget.valueAsNumber);
    };
    return h(
        "label",
        { class: "depth" },
        "Depth ",
        h("input", {
            type: "number",
            name: "depth",
            class: "small",
            min: 1,
            max: known.depth.max,
            required: true,
            value: depth ?? known.depth.default,
            onchange: onInput,
        }),
    );
}
