/**
 * The fields of a search: algorithm, form, depth, evaluator, order, cut-off, player and others. Values
 * that conflict are greyed, with the server's reason.
 *
 * @import {Address} from "../../glass/trace/address.js"
 * @import {Choice, TraceChoices} from "../../glass/trace/requests.js"
 * @import {Content, VNode} from "../../shell/elements.js"
 * @import {Field, Values} from "./search.js"
 */

import { h } from "../../shell/elements.js";
import { baseOf, refusalOf } from "./search.js";

/**
 * The contents and the callback of the fields. `id` distinguishes the fields of two searches, and `sides` are the
 * names of the players.
 * @typedef {object} Fields
 * @property {string} id
 * @property {TraceChoices} choices
 * @property {Address} state
 * @property {Values} values
 * @property {string[]} sides
 * @property {string[]} kinds the kinds of pieces that an evaluator may weigh
 * @property {(changes: Partial<Address>) => void} change
 */

/** The greatest weight of a kind of piece (engine/teach/states/evaluators.py). */
const MAX_WEIGHT = 100;
/** The greatest seed that the page offers. */
const MAX_SEED = 999_999;

/**
 * All fields of a search.
 * @param {Fields} fields
 * @returns {VNode}
 */
export function drawFields(fields) {
    const { choices } = fields;
    return h(
        "div",
        { class: "fields" },
        drawSelect(fields, "algorithm", "Algorithm", choices.algorithms),
        drawSelect(fields, "form", "Written as", choices.forms),
        drawDepth(fields),
        drawSelect(fields, "evaluator", "Evaluator", choices.evaluators),
        drawWeights(fields),
        drawSelect(fields, "order", "Move order", choices.orders),
        drawGivenOrder(fields),
        drawRest(fields),
    );
}

/** Rarely used fields: folded unless one of them has a value. */
const RARE_FIELDS = /** @type {const} */ (["cutOff", "player", "seed", "fresh"]);

/** @param {Fields} fields */
function drawRest(fields) {
    const isUsed = RARE_FIELDS.some((field) => fields.state[field] !== null);
    return h(
        "details",
        { class: "rest", key: "rest", ...(isUsed ? { open: true } : null) },
        h("summary", null, "More choices"),
        h(
            "div",
            { class: "fields" },
            drawSelect(fields, "cutOff", "The search stops", fields.choices.cut_offs),
            drawPlayer(fields),
            drawSeed(fields),
            drawFresh(fields),
        ),
    );
}

/**
 * A field with its label and a text below it: the reason why it is greyed, or the value's meaning.
 * @param {Fields} fields
 * @param {string} name
 * @param {string} label
 * @param {(attributes: Record<string, unknown>) => VNode} draw draws the control
 * @param {string} [about]
 * @param {string} [refusal]
 */
function drawField({ id }, name, label, draw, about = "", refusal = "") {
    const controlId = `${id}-${name}`;
    const aboutId = `${controlId}-about`;
    const text = refusal || about;
    return h(
        "div",
        { class: ["field", refusal && "refused"], key: name },
        h("label", { for: controlId }, label),
        draw({ id: controlId, disabled: refusal !== "", "aria-describedby": text ? aboutId : null }),
        text ? h("p", { class: "about", id: aboutId }, text) : null,
    );
}

/**
 * @param {Fields} fields
 * @param {Field} field
 * @param {string} label
 * @param {Choice[]} entries
 */
function drawSelect(fields, field, label, entries) {
    const { choices, state, values, change } = fields;
    const value = baseOf(values[field]);
    const chosen = entries.find((entry) => baseOf(entry.name) === value);
    const options = entries.map((entry) => {
        const name = baseOf(entry.name);
        const refusal = refusalOf(choices, state, values, field, name);
        const title = entry.title ?? name;
        return h("option", { key: name, value: name, disabled: refusal !== "" }, refusal ? `${title} (${refusal})` : title);
    });
    const onChange = (/** @type {Event} */ event) =>
        event.currentTarget instanceof HTMLSelectElement && change({ [field]: event.currentTarget.value });
    const draw = (/** @type {Record<string, unknown>} */ attributes) =>
        h("select", { ...attributes, ".value": value, onchange: onChange }, options);
    return drawField(fields, field, label, draw, chosen?.text ?? "", refusalOf(choices, state, values, field, "*"));
}

/** @param {Fields} fields */
function drawDepth(fields) {
    const { choices, state, values, change, id } = fields;
    const refusal = refusalOf(choices, state, values, "depth", "*");
    const isEnd = values.depth === "end";
    const onInput = (/** @type {Event} */ event) => {
        const field = event.currentTarget;
        if (field instanceof HTMLInputElement && field.value !== "" && field.validity.valid)
            change({ depth: Number(field.value) });
    };
    const toggle = (/** @type {Event} */ event) =>
        event.currentTarget instanceof HTMLInputElement && change({ depth: event.currentTarget.checked ? "end" : null });
    const end = h(
        "label",
        { class: "check" },
        h("input", { type: "checkbox", id: `${id}-end`, ".checked": isEnd, disabled: refusal !== "", onchange: toggle }),
        "to the end",
    );
    const draw = (/** @type {Record<string, unknown>} */ attributes) =>
        h(
            "div",
            { class: "row" },
            h("input", {
                ...attributes,
                type: "number",
                min: 0,
                max: choices.limits.depth,
                step: 1,
                ".value": isEnd ? "" : String(values.depth ?? ""),
                placeholder: isEnd ? "∞" : "",
                oninput: onInput,
            }),
            end,
        );
    return drawField(fields, "depth", "Depth in plies", draw, "", refusal);
}

/**
 * The weights of the pieces, for an evaluator that has them.
 * @param {Fields} fields
 */
function drawWeights({ id, choices, values, kinds, change }) {
    const name = baseOf(values.evaluator);
    const evaluator = choices.evaluators.find((entry) => baseOf(entry.name) === name);
    if (!evaluator?.weights || kinds.length === 0) return null;
    const weights = weightsOf(String(values.evaluator));
    const weigh = (/** @type {string} */ kind) => (/** @type {Event} */ event) => {
        const field = event.currentTarget;
        if (!(field instanceof HTMLInputElement) || !field.validity.valid) return;
        const { [kind]: _, ...others } = weights;
        change({ evaluator: evaluatorText(name, field.value === "" ? others : { ...others, [kind]: Number(field.value) }) });
    };
    return h(
        "fieldset",
        { class: "weights", key: "weights" },
        h("legend", null, "Weights of the pieces"),
        kinds.map((kind) =>
            h(
                "label",
                { key: kind },
                kind,
                h("input", {
                    id: `${id}-weight-${kind}`,
                    type: "number",
                    min: 0,
                    max: MAX_WEIGHT,
                    ".value": String(weights[kind] ?? ""),
                    placeholder: 1,
                    oninput: weigh(kind),
                }),
            ),
        ),
    );
}

/**
 * The weights in an evaluator's text: {queen: 9} of "material:queen=9".
 * @param {string} text
 * @returns {Record<string, number>}
 */
export function weightsOf(text) {
    const parts = text.split(":")[1]?.split(",") ?? [];
    return Object.fromEntries(
        parts.flatMap((part) => {
            const [kind, weight] = part.split("=");
            return kind && weight ? [[kind.trim(), Number(weight)]] : [];
        }),
    );
}

/**
 * An evaluator with weights as text.
 * @param {string} name
 * @param {Record<string, number>} weights
 */
export function evaluatorText(name, weights) {
    const parts = Object.entries(weights).map(([kind, weight]) => `${kind}=${weight}`);
    return parts.length > 0 ? `${name}:${parts.join(",")}` : name;
}

/**
 * The moves that come first, for an order that names them.
 * @param {Fields} fields
 */
function drawGivenOrder(fields) {
    const { choices, values, change } = fields;
    const name = baseOf(values.order);
    const order = choices.orders.find((entry) => baseOf(entry.name) === name);
    if (!order?.moves) return null;
    const onInput = (/** @type {Event} */ event) => {
        if (!(event.currentTarget instanceof HTMLInputElement)) return;
        const moves = event.currentTarget.value.trim();
        change({ order: moves ? `${name}:${moves}` : name });
    };
    const draw = (/** @type {Record<string, unknown>} */ attributes) =>
        h("input", {
            ...attributes,
            ".value": String(values.order ?? "").slice(name.length + 1),
            placeholder: "e2e4,d2d4",
            spellcheck: "false",
            autocapitalize: "off",
            oninput: onInput,
        });
    return drawField(fields, "given", "Moves that come first", draw, "Separated by commas; all others follow.");
}

/** @param {Fields} fields */
function drawPlayer(fields) {
    const { choices, state, values, sides, change } = fields;
    const onChange = (/** @type {Event} */ event) =>
        event.currentTarget instanceof HTMLSelectElement &&
        change({ player: event.currentTarget.value === "" ? null : Number(event.currentTarget.value) });
    const draw = (/** @type {Record<string, unknown>} */ attributes) =>
        h(
            "select",
            { ...attributes, ".value": values.player ? String(values.player) : "", onchange: onChange },
            h("option", { value: "" }, "the side to move"),
            sides.map((side, i) => h("option", { key: i, value: String(i + 1) }, side)),
        );
    const about = "MAX is this side: all values are theirs.";
    return drawField(fields, "player", "MAX's view", draw, about, refusalOf(choices, state, values, "player", "*"));
}

/** @param {Fields} fields */
function drawSeed(fields) {
    const { choices, state, values, change } = fields;
    const refusal = refusalOf(choices, state, values, "seed", "*");
    const onInput = (/** @type {Event} */ event) => {
        const field = event.currentTarget;
        if (field instanceof HTMLInputElement && field.value !== "" && field.validity.valid)
            change({ seed: Number(field.value) });
    };
    const draw = (/** @type {Record<string, unknown>} */ attributes) =>
        h("input", { ...attributes, type: "number", min: 0, max: MAX_SEED, ".value": String(values.seed ?? 0), oninput: onInput });
    return drawField(fields, "seed", "Seed of random choices", draw, "", refusal);
}

/** @param {Fields} fields */
function drawFresh(fields) {
    const { choices, state, values, change, id } = fields;
    const refusal = refusalOf(choices, state, values, "fresh", "*");
    const toggle = (/** @type {Event} */ event) =>
        event.currentTarget instanceof HTMLInputElement && change({ fresh: event.currentTarget.checked || null });
    return h(
        "div",
        { class: ["field", refusal && "refused"], key: "fresh" },
        h(
            "label",
            { class: "check" },
            h("input", {
                type: "checkbox",
                id: `${id}-fresh`,
                ".checked": values.fresh === true,
                disabled: refusal !== "",
                "aria-describedby": refusal ? `${id}-fresh-about` : null,
                onchange: toggle,
            }),
            "A new window for each root move",
        ),
        refusal ? h("p", { class: "about", id: `${id}-fresh-about` }, refusal) : null,
    );
}

/**
 * A choice between a few values, as a row of segments.
 * @param {string} name
 * @param {string} legend
 * @param {Record<string, string>} labels by value
 * @param {string} value
 * @param {(value: string) => void} pick
 * @returns {Content}
 */
export function drawSegments(name, legend, labels, value, pick) {
    const segments = Object.entries(labels).map(([key, label]) =>
        h(
            "label",
            { key, class: "segment" },
            h("input", { type: "radio", name, value: key, ".checked": key === value, onchange: () => pick(key) }),
            h("span", null, label),
        ),
    );
    return h(
        "fieldset",
        { class: "choice", key: name },
        h("legend", { class: "visually-hidden" }, legend),
        h("div", { class: "segments" }, segments),
    );
}
