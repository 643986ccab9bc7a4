/**
 * The choice of a time control: a row of usual ones, and a form for any other, which is loaded when it
 * is opened. The pages load this module with what has the choice.
 *
 * @import {Content} from "../../shell/elements.js"
 * @import {OtherControl} from "./other.js"
 */

import { h } from "../../shell/elements.js";
import { loadStyleSheet } from "../../shell/style-sheets.js";
import { plural, sentence } from "../../shell/words.js";
import { controlText } from "./clock.js";

/** The usual controls, in two rows; null is no clock. @type {(string | null)[][]} */
const USUAL = [
    [null, "60", "180+2", "300+3"],
    ["600+5", "900+10", "1800"],
];
/** The value of the choice for any other control. */
const OTHER = "other";
/** The number of fields so far, for their ids: a page and a window over it may have one each. */
let count = 0;

export class ClockField {
    #id = `clock-${count++}`;
    #onChange;
    /** The chosen one of USUAL. @type {string | null} */
    #chosen;
    /** The control that is chosen at first, if it is none of USUAL; null otherwise. @type {string | null} */
    #original = null;
    #isOther = false;
    /** The form; null before it is opened. @type {OtherControl | null} */
    #form = null;
    #refusal = "";

    /**
     * @param {string | null} chosen the control that is chosen at first
     * @param {() => void} onChange called after a change, to draw the field again
     */
    constructor(chosen, onChange) {
        this.#onChange = onChange;
        this.#isOther = !USUAL.flat().includes(chosen);
        this.#chosen = this.#isOther ? null : chosen;
        if (!this.#isOther) return;
        this.#original = chosen;
        void this.#open();
    }

    /** The text of the chosen control for the server, which may refuse it; null for no clock. */
    get value() {
        return this.#isOther ? (this.#form?.text ?? this.#original) : this.#chosen;
    }

    /** Whether the form for another control is open. */
    get isOther() {
        return this.#isOther;
    }

    /**
     * Shows the server's refusal at the field, and leads the user there.
     * @param {string} message
     */
    refuse(message) {
        this.#refusal = sentence(message);
        this.#onChange();
        const input = document.querySelector(`#${this.#id} .other-control input`);
        if (!(input instanceof HTMLElement)) return;
        input.scrollIntoView({ block: "nearest" });
        input.focus();
    }

    /** @param {string} value */
    #pick(value) {
        this.#refusal = "";
        this.#isOther = value === OTHER;
        if (this.#isOther) void this.#open();
        else this.#chosen = value || null;
        this.#onChange();
    }

    async #open() {
        const [form] = await Promise.all([import("./other.js"), loadStyleSheet("ui/clock/field.css")]).catch(() => [null]);
        if (form) {
            this.#form ??= new form.OtherControl(this.#original ?? this.#chosen ?? "300+3", () => {
                this.#refusal = "";
                this.#onChange();
            });
        } else {
            this.#isOther = this.#original !== null;
            this.#refusal = "The server did not send this part of the page; try again.";
        }
        this.#onChange();
    }

    /** The choice as rows of segments. @returns {Content} */
    drawSegments() {
        const value = this.#isOther ? OTHER : (this.#chosen ?? "");
        const labels = USUAL.map((row) => row.map((control) => [control ?? "", titleOf(control)]));
        labels.at(-1)?.push([OTHER, "Other…"]);
        const drawSegment = (/** @type {string[]} */ [key = "", label = ""]) =>
            h(
                "label",
                { key, class: "segment" },
                h("input", { type: "radio", name: "clock", value: key, ".checked": key === value, onchange: () => this.#pick(key) }),
                h("span", null, label),
            );
        return h(
            "fieldset",
            { class: "choice time-control", key: "clock", id: this.#id },
            h("legend", null, "Minutes for each side, and seconds added each turn"),
            labels.map((row) => h("div", { class: "segments" }, row.map(drawSegment))),
            this.#drawOther(),
        );
    }

    /** The choice as a list that drops down. @returns {Content} */
    drawSelect() {
        const value = this.#isOther ? OTHER : (this.#chosen ?? "");
        const pick = (/** @type {Event} */ { currentTarget }) =>
            currentTarget instanceof HTMLSelectElement && this.#pick(currentTarget.value);
        const entries = [...USUAL.flat().map((control) => [control ?? "", wordsOf(control)]), [OTHER, "Other…"]];
        return [
            h(
                "label",
                { key: "clock" },
                h("span", null, "Time"),
                h("select", { name: "clock", ".value": value, onchange: pick }, entries.map(([key = "", title]) => h("option", { key: `o${key}`, value: key }, title))),
            ),
            this.#isOther || this.#refusal ? h("div", { key: "other-clock", class: "time-control", id: this.#id }, this.#drawOther()) : null,
        ];
    }

    #drawOther() {
        const id = `${this.#id}-refusal`;
        return [
            this.#isOther ? (this.#form?.draw(this.#refusal && id) ?? h("p", { class: "muted", key: "loading" }, "Loading…")) : null,
            this.#refusal ? h("p", { class: "field-error", role: "alert", key: "refusal", id }, this.#refusal) : null,
        ];
    }
}

/**
 * A usual control in words, for a list without room to explain "3+2": "3 minutes + 2 s a turn".
 * @param {string | null} control
 */
function wordsOf(control) {
    if (control === null) return titleOf(control);
    const [base_s, gain_s] = control.split("+").map(Number);
    return plural(base_s / 60, "minute") + (gain_s ? ` + ${gain_s} s a turn` : "");
}

/** @param {string | null} control */
function titleOf(control) {
    return control === null ? "Untimed" : controlText(control);
}
