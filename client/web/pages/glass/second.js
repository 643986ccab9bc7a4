/**
 * The second search, side by side with the first one: an instructive pair, or any search of the same
 * position.
 *
 * @import {Address} from "../../glass/trace/address.js"
 * @import {PairChoice} from "../../glass/trace/requests.js"
 * @import {Content} from "../../shell/elements.js"
 * @import {Fields} from "./fields.js"
 */

import { h } from "../../shell/elements.js";
import { drawFields } from "./fields.js";
import { fieldsOf, refusalOf, valuesOf, withChanges } from "./search.js";

/**
 * The pairs, and the fields of the second search if there is one.
 * @param {Fields} first the fields of the first search
 * @param {Record<string, any> | null} head of the second search's trace
 * @param {(changes: Partial<Address>) => void} change
 * @returns {Content}
 */
export function drawSecond(first, head, change) {
    const { choices, state } = first;
    const pairs = (choices.pairs ?? []).map((pair) => drawPair(first, pair, change));
    if (state.with === null)
        return [
            h("p", { class: "muted", key: "about" }, "Two searches of the same position, in step. The nodes that only one of them visits are marked in both."),
            h("div", { class: "pairs", key: "pairs" }, pairs, h("button", { type: "button", class: "small", onclick: () => change({ with: {} }) }, "Any other…")),
        ];
    const second = { ...state, ...state.with, with: null };
    const changeSecond = (/** @type {Partial<Address>} */ changes) => {
        const changed = withChanges(choices, second, changes);
        change({ with: differences(state, changed) });
    };
    return [
        h("div", { class: "pairs", key: "pairs" }, pairs, h("button", { type: "button", class: "small", onclick: () => change({ with: null }) }, "One search only")),
        drawFields({ ...first, id: "second", state: second, values: valuesOf(second, choices, head), change: changeSecond }),
    ];
}

/**
 * The button of a pair; it is greyed, with the reason, if the pair conflicts with the subject.
 * @param {Fields} first
 * @param {PairChoice} pair
 * @param {(changes: Partial<Address>) => void} change
 */
function drawPair({ choices, state }, pair, change) {
    const left = { ...state, ...fieldsOf(pair.left), with: null };
    const right = { ...left, ...fieldsOf(pair.right) };
    const refusal = [left, right]
        .flatMap((search) => {
            const values = valuesOf(search, choices, null);
            return [refusalOf(choices, search, values, "algorithm", values.algorithm), refusalOf(choices, search, values, "form", values.form)];
        })
        .find((reason) => reason !== "");
    const isShown = state.with !== null && sameFields(differences(left, { ...state, ...state.with, with: null }), differences(left, right)) && sameFields(fieldsOf(pair.left), state);
    const onclick = () => change({ ...fieldsOf(pair.left), with: fieldsOf(pair.right) });
    const attributes = { type: "button", class: "small", key: pair.title, "aria-pressed": isShown };
    return refusal
        ? h("button", { ...attributes, disabled: true, title: refusal }, pair.title)
        : h("button", { ...attributes, onclick }, pair.title);
}

/** The fields in which two searches of a position may differ. */
const DIFFERING = /** @type {const} */ (["algorithm", "form", "depth", "order", "evaluator", "cutOff", "player", "fresh"]);

/**
 * The fields of a second search that differ from the first one's.
 * @param {Address} first
 * @param {Address} second
 * @returns {NonNullable<Address["with"]>}
 */
function differences(first, second) {
    return Object.fromEntries(DIFFERING.flatMap((field) => (second[field] === first[field] || second[field] === null ? [] : [[field, second[field]]])));
}

/**
 * Whether all given fields have the same values in another search.
 * @param {Partial<Address>} fields
 * @param {Partial<Address>} others
 */
function sameFields(fields, others) {
    return Object.entries(fields).every(([name, value]) => /** @type {Record<string, unknown>} */ (others)[name] === value);
}
