/**
 * The form for a time control that is none of the usual ones. It only writes the control's text: the
 * server decides whether it plays by it, and says what it expected. A control stays as it is until a
 * field is changed: the fields cannot hold every one.
 *
 * @import {Content} from "../../shell/elements.js"
 */

import { h } from "../../shell/elements.js";
import { controlText, parseControl } from "./clock.js";

/** The kinds of clocks, with what each does. @type {Record<string, {title: string, about: string}>} */
const KINDS = {
    increment: { title: "Increment", about: "Each turn adds its seconds to the clock." },
    delay: { title: "Delay", about: "In each turn the clock waits before it runs." },
    bronstein: { title: "Bronstein", about: "Each turn gives back what it used, up to its seconds. The clock starts with them." },
    byoyomi: { title: "Byo-yomi", about: "After the main time there are periods. A turn that ends within a period keeps it." },
    canadian: { title: "Canadian", about: "After the main time there is a block of time for a number of turns, again and again." },
    stages: { title: "Stages", about: "After a number of turns a side receives more time." },
};
/** The signs of the kinds that have one in a text. @type {Record<string, string>} */
const SIGNS = { delay: "d", bronstein: "b" };
const MAX_STAGES = 3;

/** One stage as it is typed. @typedef {{turns: string, minutes: string, gain: string}} TypedStage */

export class OtherControl {
    #onChange;
    /** The control with which the form began; null after a change of a field. @type {string | null} */
    #original;
    #kind = "increment";
    /** What is typed, the last stage last; only the kind "stages" has more than one. @type {TypedStage[]} */
    #stages = [{ turns: "40", minutes: "5", gain: "3" }];
    /** Byo-yomi: the number of periods, and the seconds of each. */
    #periods = { count: "3", seconds: "30" };
    /** Canadian overtime: the number of turns in a block, and its minutes. */
    #block = { turns: "25", minutes: "5" };

    /**
     * @param {string} text the control with which the form begins
     * @param {() => void} onChange
     */
    constructor(text, onChange) {
        this.#onChange = () => {
            this.#original = null;
            onChange();
        };
        this.#original = text;
        const control = parseControl(text);
        const first = control?.stages[0];
        if (!control || !first) return;
        const { overtime } = control;
        this.#kind = overtime ? (overtime.kind === "x" ? "byoyomi" : "canadian") : control.stages.length > 1 ? "stages" : ({ d: "delay", b: "bronstein" }[first.kind] ?? "increment");
        this.#stages = control.stages.map(({ turns, base_ms, gain_ms }) => ({
            turns: String(turns ?? 40),
            minutes: String(base_ms / 60_000),
            gain: String(gain_ms / 1000),
        }));
        const { count, period_ms } = overtime ?? { count: 0, period_ms: 0 };
        if (overtime?.kind === "x") this.#periods = { count: String(count), seconds: String(period_ms / 1000) };
        if (overtime?.kind === "/") this.#block = { turns: String(count), minutes: String(period_ms / 60_000) };
    }

    /** The control's text for the server. */
    get text() {
        return this.#original ?? this.#typed;
    }

    /** The control as the fields have it. */
    get #typed() {
        const stages = this.#kind === "stages" ? this.#stages : this.#stages.slice(-1);
        const texts = stages.map(({ turns, minutes, gain }, i) => {
            const count = i < stages.length - 1 ? `${turns.trim()}/` : "";
            const rest = Number(gain) === 0 && gain.trim() !== "" ? "" : (SIGNS[this.#kind] ?? "+") + gain.trim();
            return `${count}${secondsOf(minutes)}${this.#hasGain ? rest : ""}`;
        });
        const [periods, block] = [this.#periods, this.#block];
        if (this.#kind === "byoyomi") texts.push(`+${periods.count.trim()}x${periods.seconds.trim()}`);
        if (this.#kind === "canadian") texts.push(`+${block.turns.trim()}/${secondsOf(block.minutes)}`);
        return this.#hasGain ? texts.join(":") : texts.join("");
    }

    get #hasGain() {
        return this.#kind !== "byoyomi" && this.#kind !== "canadian";
    }

    /** @param {string} kind */
    #pick(kind) {
        this.#kind = kind;
        if (kind === "stages" && this.#stages.length === 1)
            this.#stages = [{ turns: "40", minutes: "90", gain: "30" }, { turns: "", minutes: "30", gain: "30" }];
        this.#onChange();
    }

    /**
     * @param {string} refusalId the id of the server's refusal of the text; "" without one
     * @returns {Content}
     */
    draw(refusalId) {
        const kind = KINDS[this.#kind];
        const pick = (/** @type {Event} */ { currentTarget }) =>
            currentTarget instanceof HTMLSelectElement && this.#pick(currentTarget.value);
        const field = (/** @type {string} */ label, /** @type {string} */ value, /** @type {(value: string) => void} */ write) =>
            drawField(label, value, refusalId, (text) => (write(text), this.#onChange()));
        const stages = this.#kind === "stages" ? this.#stages : this.#stages.slice(-1);
        const text = this.text;
        return h(
            "div",
            { class: "other-control", key: "form" },
            h(
                "label",
                { key: "kind" },
                h("span", null, "Kind"),
                h("select", { ".value": this.#kind, onchange: pick }, Object.entries(KINDS).map(([key, { title }]) => h("option", { key, value: key }, title))),
            ),
            stages.map((stage, i) => this.#drawStage(stage, i, i === stages.length - 1, field)),
            this.#kind === "stages" ? this.#drawStageButtons() : null,
            this.#kind === "byoyomi"
                ? [
                      field("Periods", this.#periods.count, (count) => (this.#periods.count = count)),
                      field("Seconds of each", this.#periods.seconds, (seconds) => (this.#periods.seconds = seconds)),
                  ]
                : null,
            this.#kind === "canadian"
                ? [
                      field("Turns in a block", this.#block.turns, (turns) => (this.#block.turns = turns)),
                      field("Minutes of a block", this.#block.minutes, (minutes) => (this.#block.minutes = minutes)),
                  ]
                : null,
            h("p", { class: "about", key: "about" }, `${kind?.about ?? ""} `, parseControl(text) ? h("b", null, controlText(text)) : null),
            text === this.#typed
                ? null
                : h("p", { class: "about", key: "original" }, "These fields cannot hold all of the present control, ", h("code", null, text), ". It stays as it is until you change one."),
        );
    }

    /**
     * @param {TypedStage} stage
     * @param {number} index
     * @param {boolean} isLast
     * @param {(label: string, value: string, write: (value: string) => void) => Content} field
     */
    #drawStage(stage, index, isLast, field) {
        const name = this.#kind === "stages" ? `, stage ${index + 1}` : "";
        const gain = this.#kind === "delay" ? "Seconds of delay" : "Seconds a turn";
        return h(
            "div",
            { class: "stage", key: `stage ${index}` },
            isLast ? null : field(`Turns${name}`, stage.turns, (turns) => (stage.turns = turns)),
            field(`Minutes${name}`, stage.minutes, (minutes) => (stage.minutes = minutes)),
            this.#hasGain ? field(`${gain}${name}`, stage.gain, (seconds) => (stage.gain = seconds)) : null,
        );
    }

    #drawStageButtons() {
        const change = (/** @type {TypedStage[]} */ stages) => {
            this.#stages = stages;
            this.#onChange();
        };
        const stages = this.#stages;
        return h(
            "div",
            { class: "stage-buttons", key: "stage buttons" },
            stages.length < MAX_STAGES
                ? h("button", { type: "button", key: "add", class: "small", onclick: () => change([{ turns: "40", minutes: "90", gain: "30" }, ...stages]) }, "One stage more")
                : null,
            stages.length > 2 ? h("button", { type: "button", key: "less", class: "small", onclick: () => change(stages.slice(1)) }, "One stage less") : null,
        );
    }
}

/**
 * Minutes as typed, in whole seconds; a text that is no number stays as it is, for the server's answer.
 * @param {string} minutes
 */
function secondsOf(minutes) {
    const number = Number(minutes.trim().replace(",", "."));
    return minutes.trim() === "" || Number.isNaN(number) ? minutes.trim() : Math.round(number * 60);
}

/**
 * @param {string} label
 * @param {string} value
 * @param {string} refusalId
 * @param {(value: string) => void} write
 */
function drawField(label, value, refusalId, write) {
    const onInput = (/** @type {Event} */ { currentTarget }) =>
        currentTarget instanceof HTMLInputElement && write(currentTarget.value);
    return h(
        "label",
        { key: label },
        h("span", null, label),
        h("input", {
            ".value": value,
            inputmode: "decimal",
            maxlength: 6,
            autocomplete: "off",
            "aria-invalid": refusalId ? "true" : null,
            "aria-describedby": refusalId || null,
            oninput: onInput,
        }),
    );
}
