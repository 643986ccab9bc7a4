/**
 * The field for a tree or a graph as text. A mistake is shown by line and column: the line with a mark
 * under the column, and a button that puts the caret there.
 *
 * @import {TraceError} from "../../glass/trace/stream.js"
 * @import {Content, VNode} from "../../shell/elements.js"
 */

import { h } from "../../shell/elements.js";
import { sentenceOf } from "../../shell/words.js";
import { EXAMPLES } from "./examples.js";

/** Maximum number of characters of a line to show around a mistake. */
const SHOWN_CHARACTERS = 60;
/** The help on the notation of the texts. @type {Record<"tree" | "graph", {title: string, lines: [string, string][]}>} */
const NOTATION_HELP = {
    tree: {
        title: "How to write a tree",
        lines: [
            ["max(3, 12)", "MAX chooses between two leaves; also min, mean (chance), and p1 to p8 for players."],
            ["max(A: min(3, 12), B: 2)", "Names of moves stand before a colon; any node may stand inside another."],
            ["max~5(3, 12)", "The estimate of a node, for a search that stops there."],
            ["<0, 5>", "A leaf with a value for each player; inf and -inf are values, too."],
            ["# text", "A comment to the end of the line."],
        ],
    },
    graph: {
        title: "How to write a graph",
        lines: [
            ["start: max(left: a, right: b)", "A state with its name; it leads to the states a and b. The first state is the start."],
            ["a: min(b, 3)", "A transition leads to a state by its name, or to a node as in a tree."],
            ["# text", "A comment to the end of the line."],
        ],
    },
};

/**
 * @typedef {object} TextField
 * @property {"tree" | "graph"} kind
 * @property {string} text
 * @property {number} maxLength in characters
 * @property {TraceError | null} error the server's refusal of the text
 * @property {(text: string) => void} change
 * @property {(text: string) => void} announce
 */

/**
 * @param {TextField} field
 * @returns {VNode}
 */
export function drawTextField(field) {
    const { kind, text, maxLength, error, change } = field;
    const onInput = (/** @type {Event} */ event) =>
        event.currentTarget instanceof HTMLTextAreaElement && change(event.currentTarget.value);
    const label = kind === "tree" ? "Tree as text" : "Graph of states as text";
    return h(
        "div",
        { class: "text-field", key: kind },
        h("label", { for: "text" }, label),
        h("textarea", {
            id: "text",
            rows: 6,
            maxlength: maxLength,
            spellcheck: "false",
            autocapitalize: "off",
            autocomplete: "off",
            placeholder: EXAMPLES[kind],
            ".value": text,
            "aria-invalid": error !== null,
            "aria-describedby": "text-mistake",
            oninput: onInput,
        }),
        h("div", { id: "text-mistake", role: "status" }, error ? drawMistake(text, error) : null),
        h(
            "div",
            { class: "row" },
            text.trim() === ""
                ? h("button", { type: "button", class: "small", onclick: () => change(EXAMPLES[kind]) }, "Use the example")
                : null,
            drawOpenFile(field),
            text.trim() === "" ? null : drawSaveFile(kind, text),
        ),
        h(
            "details",
            { class: "how", key: "how" },
            h("summary", null, NOTATION_HELP[kind].title),
            NOTATION_HELP[kind].lines.map(([code, text]) => h("p", null, h("code", null, code), ` ${text}`)),
        ),
    );
}

/**
 * @param {string} text
 * @param {TraceError} error
 * @returns {Content}
 */
function drawMistake(text, error) {
    const { line, column } = error;
    const message = sentenceOf(error.message.replace(/^line \d+, column \d+: /, ""));
    if (line === null || column === null) return h("p", { class: "refusal" }, message);
    const excerpt = excerptAt(text, line, column);
    return [
        h(
            "p",
            { class: "refusal", key: "message" },
            h("button", { type: "button", class: "small", onclick: () => putCaret(text, line, column) }, `Line ${line}, column ${column}`),
            ` ${message}`,
        ),
        h("pre", { class: "excerpt", key: "excerpt", "aria-hidden": "true" }, `${excerpt.text}\n${" ".repeat(excerpt.column)}^`),
    ];
}

/**
 * The part of a line around a column, and the index of the column in it.
 * @param {string} text
 * @param {number} line counted from 1
 * @param {number} column counted from 1
 */
export function excerptAt(text, line, column) {
    const whole = (text.split("\n")[line - 1] ?? "").replaceAll("\t", " ");
    const from = Math.max(0, Math.min(column - 1 - SHOWN_CHARACTERS / 2, whole.length - SHOWN_CHARACTERS));
    return { text: whole.slice(from, from + SHOWN_CHARACTERS), column: column - 1 - from };
}

/**
 * The index of a place in a text.
 * @param {string} text
 * @param {number} line counted from 1
 * @param {number} column counted from 1
 */
export function indexAt(text, line, column) {
    const before = text.split("\n").slice(0, line - 1);
    return Math.min(text.length, before.reduce((sum, each) => sum + each.length + 1, 0) + column - 1);
}

/**
 * Puts the caret at a line and a column.
 * @param {string} text
 * @param {number} line
 * @param {number} column
 */
function putCaret(text, line, column) {
    const area = document.getElementById("text");
    if (!(area instanceof HTMLTextAreaElement)) return;
    const index = indexAt(text, line, column);
    area.focus();
    area.setSelectionRange(index, index);
}

/** @param {TextField} field */
function drawOpenFile({ kind, maxLength, change, announce }) {
    const onChange = async (/** @type {Event} */ event) => {
        const input = event.currentTarget;
        const file = input instanceof HTMLInputElement ? input.files?.[0] : null;
        if (!file || !(input instanceof HTMLInputElement)) return;
        change((await file.slice(0, maxLength).text()).replace(/\r\n?/g, "\n"));
        announce(`${file.name} opened`);
        input.value = "";
    };
    return h(
        "label",
        { class: "button small file", key: "open" },
        `Open a file…`,
        h("input", { type: "file", class: "visually-hidden", accept: ".txt,.json,text/plain", "aria-label": `Open a file with a ${kind}`, onchange: onChange }),
    );
}

/**
 * @param {"tree" | "graph"} kind
 * @param {string} text
 */
function drawSaveFile(kind, text) {
    const save = () => {
        const link = document.createElement("a");
        link.href = URL.createObjectURL(new Blob([text], { type: "text/plain" }));
        link.download = `${kind}.txt`;
        link.click();
        setTimeout(() => URL.revokeObjectURL(link.href));
    };
    return h("button", { type: "button", class: "small", key: "save", onclick: save }, "Save as a file");
}
