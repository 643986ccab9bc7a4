/**
 * The exercise with a tree to order so that alpha-beta skips as many leaves as possible. The server
 * searches the tree in the reader's order.
 *
 * @import {FigureNode} from "./figure.js"
 * @import {VNode} from "../../shell/elements.js"
 */

import { drawFigure, figureNodes } from "./figure.js";
import { startTrace } from "../../glass/trace/requests.js";
import { SearchTrace } from "../../glass/trace/trace.js";
import { h } from "../../shell/elements.js";

/**
 * @typedef {{kind: "order", text: string, root: FigureNode, leaves: number, least_leaves: number,
 *     all_leaves: number}} OrderExerciseBody
 */

/**
 * A tree as the text that the server reads: "max(A: min(A1: 9, A2: 7))".
 * @param {FigureNode} node
 * @returns {string}
 */
export function treeText(node) {
    if (node.kind === "leaf") return String(node.value);
    return `${node.kind}(${node.children.map((child) => `${child.move}: ${treeText(child)}`).join(", ")})`;
}

/**
 * The tree with a node one place earlier or later among its siblings.
 * @param {FigureNode} root
 * @param {string} name
 * @param {1 | -1} direction
 * @returns {FigureNode}
 */
export function moveNode(root, name, direction) {
    const from = root.children.findIndex((child) => child.name === name);
    if (from < 0) return { ...root, children: root.children.map((child) => moveNode(child, name, direction)) };
    const to = Math.max(0, Math.min(root.children.length - 1, from + direction));
    const children = [...root.children];
    children.splice(to, 0, ...children.splice(from, 1));
    return { ...root, children };
}

export class OrderExercise {
    #app;
    #body;
    #onSolved;
    #root;
    /** The node that the buttons move. */
    #selected;
    /** The leaves that the search saw in the order that was checked last, and those that it skipped.
     * @type {{leaves: number, skipped: Set<string>, order: string} | null} */
    #result = null;
    /** Why the order could not be checked. @type {string | null} */
    #failure = null;
    #isChecking = false;
    #focus = false;

    /**
     * @param {{update: () => void, announce: (text: string) => void}} app
     * @param {OrderExerciseBody} body
     * @param {() => void} onSolved
     */
    constructor(app, body, onSolved) {
        this.#app = app;
        this.#body = body;
        this.#onSolved = onSolved;
        this.#root = body.root;
        this.#selected = body.root.children[0]?.name ?? "";
    }

    /** @returns {VNode} */
    draw() {
        const order = treeText(this.#root);
        const result = this.#result?.order === order ? this.#result : null;
        const { place, count } = this.#place();
        return h(
            "div",
            { class: "order-exercise", onkeydown: (/** @type {KeyboardEvent} */ event) => this.#onKey(event) },
            h("p", null, this.#body.text),
            h("p", { class: "muted" }, "Choose a branch or a leaf, then move it with the buttons below or with the left and right arrow keys."),
            drawFigure({
                root: this.#root,
                label: "The tree",
                isCrossed: ({ name }) => result?.skipped.has(name) ?? false,
                select: { name: this.#selected, choose: ({ name }) => this.#select(name) },
            }),
            h(
                "p",
                { class: "buttons" },
                h("button", { "aria-disabled": place === 1, onclick: () => this.#move(-1) }, `← ${this.#selected} earlier`),
                h("button", { "aria-disabled": place === count, onclick: () => this.#move(1) }, `${this.#selected} later →`),
                h("button", { class: "main", "aria-disabled": this.#isChecking, onclick: () => void this.#check() }, "Check"),
                h("button", { onclick: () => this.#reset() }, "Start again"),
            ),
            this.#failure === null ? null : h("p", { class: "field-error", role: "alert" }, this.#failure),
            result === null ? null : this.#drawResult(result.leaves),
            h(
                "p",
                { class: "as-text" },
                h("code", null, order),
                " ",
                h("a", { href: `/glass?${new URLSearchParams({ tree: order, algorithm: "alphabeta" })}` }, "Open in the glass box"),
            ),
        );
    }

    /** Keeps the focus on the node that was moved. */
    afterDraw() {
        if (!this.#focus) return;
        this.#focus = false;
        const node = document.querySelector(`.order-exercise [data-node="${this.#selected}"]`);
        if (node instanceof HTMLElement) node.focus({ preventScroll: true });
    }

    /** @param {number} leaves */
    #drawResult(leaves) {
        const { least_leaves, all_leaves } = this.#body;
        const isBest = leaves <= least_leaves;
        const isBetter = leaves < all_leaves;
        const counted = `Alpha-beta sees ${leaves} of ${all_leaves} leaves.`;
        const advice =
            !isBetter
                ? "Nothing is cut off. Which branch has the greatest value for MAX? It belongs first."
                : "At a MIN node, the leaf that is small enough belongs first.";
        return h(
            "p",
            { class: ["verdict", isBest ? "is-right" : isBetter ? null : "is-wrong"], role: "status" },
            h("strong", null, `${isBest ? "✓ " : isBetter ? "" : "✗ "}${counted} `),
            isBest
                ? `No order needs fewer: the least possible is ${least_leaves}.`
                : `${isBetter ? "Better, but the" : "The"} least possible is ${least_leaves}. ${advice}`,
        );
    }

    /** @param {string} name */
    #select(name) {
        this.#selected = name;
        this.#app.update();
    }

    /** @param {1 | -1} direction */
    #move(direction) {
        this.#root = moveNode(this.#root, this.#selected, direction);
        const { place, count } = this.#place();
        this.#app.announce(`${this.#selected} is ${place} of ${count}.`);
        this.#app.update();
    }

    /** The place of the selected node among its siblings, from 1, and their number. */
    #place() {
        const parent = figureNodes(this.#root).find(({ children }) => children.some(({ name }) => name === this.#selected));
        const siblings = parent?.children ?? [];
        return { place: siblings.findIndex(({ name }) => name === this.#selected) + 1, count: siblings.length };
    }

    #reset() {
        this.#root = this.#body.root;
        this.#result = null;
        this.#failure = null;
        this.#app.update();
    }

    async #check() {
        if (this.#isChecking) return;
        this.#isChecking = true;
        this.#failure = null;
        this.#app.update();
        const order = treeText(this.#root);
        try {
            const trace = await SearchTrace.load(await startTrace({ tree: order, algorithm: "alphabeta" }));
            this.#result = { order, leaves: trace.end?.counts.leaves ?? 0, skipped: skippedLeaves(trace, this.#root) };
            if (this.#result.leaves <= this.#body.least_leaves) this.#onSolved();
        } catch (error) {
            this.#failure = error instanceof Error ? error.message : String(error);
        }
        this.#isChecking = false;
        this.#app.update();
    }

    /**
     * Moves the focused node by an arrow key, and selects it.
     * @param {KeyboardEvent} event
     */
    #onKey(event) {
        const direction = event.key === "ArrowLeft" ? -1 : event.key === "ArrowRight" ? 1 : null;
        const name = event.target instanceof HTMLElement ? event.target.dataset.node : undefined;
        if (direction === null || name === undefined || event.altKey || event.ctrlKey || event.metaKey) return;
        event.preventDefault();
        this.#selected = name;
        this.#focus = true;
        this.#move(direction);
    }
}

/**
 * The names of the leaves that a search never saw.
 * @param {SearchTrace} trace
 * @param {FigureNode} root
 * @returns {Set<string>}
 */
function skippedLeaves(trace, root) {
    const seen = new Set(Array.from({ length: trace.count }, (_, row) => trace.move(row)));
    return new Set(figureNodes(root).flatMap(({ kind, name }) => (kind === "leaf" && !seen.has(name) ? [name] : [])));
}
