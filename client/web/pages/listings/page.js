/**
 * The printed listings, and what to correct in them: each as it is typed, run on four trees and on one
 * of the reader's, beside the right search.
 *
 * @import {Page} from "../../shell/app.js"
 * @import {Content, VNode} from "../../shell/elements.js"
 * @import {ListingLine} from "../../lesson/listing.js"
 */

import { indentOf } from "../../lesson/listing.js";
import { readListings, runListings } from "../../glass/trace/requests.js";
import { h } from "../../shell/elements.js";
import { ReadPage } from "../../ui/reading/read-page.js";
import { countText } from "../../shell/words.js";

/** @typedef {number | string | null} Value */
/** @typedef {{value: Value, visits: number, error: string, right_value: Value, right_visits: number}} Result */
/** @typedef {{name: string, text: string, title: string, lesson: string, fault: string, correction: string, lines: ListingLine[], results: Result[]}} Listing */
/** @typedef {{listings: Listing[], trees: {title: string, tree: string}[], remarks: {text: string, says: string, right: string, lesson: string}[]}} ListingsBody */

/** The tree that the field shows first. */
const FIRST_TREE = "max(A: min(7, 4, 9), B: min(3, 8, 2))";

/** @implements {Page} */
export class ListingsPage extends ReadPage {
    /** @type {ListingsBody | null} */
    #body = null;
    /** The results on the reader's tree, by listing. @type {Record<string, Result> | null} */
    #own = null;
    #tree = FIRST_TREE;
    /** Why the reader's tree could not be run. @type {string | null} */
    #problem = null;
    #isRunning = false;

    title() {
        return "The printed listings – Plyroom";
    }

    /** @override */
    async read() {
        this.#body = await readListings();
    }

    async #run() {
        if (this.#isRunning) return;
        this.#isRunning = true;
        this.#problem = null;
        this.app.update();
        try {
            this.#own = (await runListings(this.#tree)).results;
            this.app.announce("The listings have run on your tree.");
        } catch (error) {
            this.#own = null;
            this.#problem = error instanceof Error ? error.message : String(error);
        }
        this.#isRunning = false;
        this.app.update();
    }

    /** @returns {Content} */
    draw() {
        return h(
            "div",
            { class: "page listings" },
            h("nav", { class: "way", "aria-label": "Path" }, h("a", { href: "/learn" }, "All lessons")),
            h("h1", null, "The printed listings, and what to correct in them"),
            h(
                "p",
                { class: "lesson-text" },
                "Lectures have typing errors. Whoever types in one of these listings gets a different number from the one in the text. Each runs here as it is typed, beside the right search. What had to be added to let it run is grey, the line at fault is marked.",
            ),
            this.#drawBody(),
        );
    }

    #drawBody() {
        if (this.failure !== null) return this.drawFailure();
        const body = this.#body;
        if (body === null) return h("p", { class: "muted", role: "status" }, "Running the listings…");
        return [
            this.#drawForm(),
            body.listings.map((listing) => this.#drawListing(listing, body)),
            h("h2", { key: "remarks" }, "What the texts say in two ways"),
            body.remarks.map((remark, index) =>
                h(
                    "section",
                    { class: "card remark", key: `remark ${index}` },
                    h("p", null, h("strong", null, `${remark.text}: `), remark.says),
                    h("p", null, remark.right, " ", h("a", { href: `/learn/${remark.lesson}` }, "The lesson")),
                ),
            ),
        ];
    }

    #drawForm() {
        const submit = (/** @type {SubmitEvent} */ event) => {
            event.preventDefault();
            void this.#run();
        };
        const type = (/** @type {Event} */ event) => {
            if (event.target instanceof HTMLTextAreaElement) this.#tree = event.target.value;
        };
        return h(
            "form",
            { class: "card own-tree", key: "form", onsubmit: submit },
            h("label", { for: "own-tree" }, "A tree of your own: MAX at the root, at most 200 nodes"),
            h("textarea", {
                id: "own-tree",
                rows: 3,
                spellcheck: "false",
                ".value": this.#tree,
                "aria-invalid": this.#problem !== null,
                "aria-describedby": this.#problem === null ? null : "own-tree-problem",
                oninput: type,
            }),
            this.#problem === null ? null : h("p", { class: "field-error", id: "own-tree-problem", role: "alert" }, this.#problem),
            h("p", { class: "buttons" }, h("button", { class: "main", "aria-disabled": this.#isRunning }, this.#isRunning ? "Running…" : "Run the listings on it"), this.#drawDone()),
        );
    }

    /** Where the results are, which may be out of view. */
    #drawDone() {
        if (!this.#own || this.#isRunning) return null;
        const [first] = Object.keys(this.#own);
        const show = () => document.getElementById(`own-${first}`)?.scrollIntoView({ block: "center" });
        return [h("span", { class: "muted", key: "done" }, "Done: see the last row of each table."), h("button", { class: "small", type: "button", key: "show", onclick: show }, "Show the first")];
    }

    /**
     * @param {Listing} listing
     * @param {ListingsBody} body
     */
    #drawListing({ name, text, title, lesson, lines, fault, correction, results }, { trees }) {
        const own = this.#own?.[name];
        const rows = results.map((result, index) => drawResult(trees[index]?.title ?? "", result));
        return h(
            "section",
            { class: "card printed", key: name, "aria-labelledby": `listing-${name}` },
            h("h2", { id: `listing-${name}` }, `${text}: ${title}`),
            h("ol", { class: "listing" }, lines.map(drawLine)),
            h(
                "div",
                { class: "about" },
                h("p", null, fault),
                h("p", null, h("strong", null, "To correct: "), correction, " ", h("a", { href: `/learn/${lesson}` }, "Find it yourself")),
                h(
                    "table",
                    null,
                    h("caption", { class: "visually-hidden" }, `What ${title} gives`),
                    h("thead", null, h("tr", null, ["Tree", "Value typed", "Value right", "Visits typed", "Visits right"].map((head, index) => h("th", { key: index, scope: "col" }, head)))),
                    h("tbody", null, rows, own ? drawResult("Your tree", own, `own-${name}`) : null),
                ),
                [...new Set([...results, ...(own ? [own] : [])].map(({ error }) => error).filter(Boolean))].map((error) =>
                    h("p", { key: error, class: "muted" }, `${error}.`),
                ),
            ),
        );
    }
}

/**
 * @param {ListingLine} line
 * @param {number} index
 */
function drawLine(line, index) {
    const { parts, is_fault } = line;
    return h(
        "li",
        { key: index, class: is_fault && "fault", "--indent": indentOf(line) },
        h("code", null, parts.map(([text, isAdded], place) => (isAdded ? h("span", { key: place, class: "added" }, text) : text))),
        is_fault ? h("span", { class: "visually-hidden" }, " (at fault)") : null,
    );
}

/**
 * A row of results; what differs from the right search is marked.
 * @param {string} tree
 * @param {Result} result
 * @param {string | null} [id]
 * @returns {VNode}
 */
function drawResult(tree, { value, visits, error, right_value, right_visits }, id = null) {
    const isWrong = error !== "" || value !== right_value;
    const isLong = error === "" && visits > right_visits;
    return h(
        "tr",
        { key: tree, id },
        h("th", { scope: "row" }, tree),
        h("td", { class: isWrong && "wrong" }, error ? error.split(":")[0] : numberText(value)),
        h("td", null, numberText(right_value)),
        h("td", { class: isLong && "wrong" }, error ? "–" : countText(visits)),
        h("td", null, countText(right_visits)),
    );
}

/** @param {Value} value */
function numberText(value) {
    if (typeof value === "string") return value.replace("inf", "∞").replace("-", "−");
    return value === null ? "–" : String(Math.round(value * 1000) / 1000).replace("-", "−");
}
