/**
 * The list of finished matches, the latest first, in pages.
 *
 * @import {App, Page} from "../../shell/app.js"
 * @import {MatchSummary} from "../../shell/api.js"
 * @import {Content} from "../../shell/elements.js"
 */

import { listMatches } from "../../shell/api.js";
import { h } from "../../shell/elements.js";
import { drawMatch } from "../../ui/matches.js";

/** Maximum number of matches that one request loads. */
const PAGE_SIZE = 30;

/** @implements {Page} */
export class ReplaysPage {
    #app;
    /** @type {MatchSummary[]} */
    #matches = [];
    /** The `before` of the next request; null after the last page. @type {string | null} */
    #next = null;
    #state = /** @type {"loading" | "loaded" | "failed"} */ ("loading");

    /** @param {App} app */
    constructor(app) {
        this.#app = app;
    }

    start() {
        void this.#load();
    }

    stop() {}

    onModelChange() {}

    onReconnect() {
        if (this.#state === "failed") void this.#load();
    }

    onKey() {}

    afterDraw() {}

    title() {
        return "Replays – Plyroom";
    }

    async #load() {
        this.#state = "loading";
        this.#app.update();
        try {
            const { matches, next } = await listMatches(PAGE_SIZE, this.#next);
            this.#matches = [...this.#matches, ...matches];
            this.#next = next;
            this.#state = "loaded";
        } catch (error) {
            this.#state = "failed";
            this.#app.toast(error instanceof Error ? error.message : String(error));
        }
        this.#app.update();
    }

    /** @returns {Content} */
    draw() {
        const now_ms = Date.now();
        const isEmpty = this.#state === "loaded" && this.#matches.length === 0;
        return h(
            "div",
            { class: "page narrow" },
            h("h1", null, "Replays"),
            isEmpty ? h("p", { class: "muted" }, "There are no finished matches yet.") : null,
            this.#matches.length > 0
                ? h(
                      "ul",
                      { class: "card list matches" },
                      this.#matches.map((match) => drawMatch(match, now_ms)),
                  )
                : null,
            this.#state === "loading" ? h("p", { class: "muted" }, "Loading…") : null,
            this.#state === "failed" ? h("p", { class: "muted" }, "The matches could not be loaded.") : null,
            this.#state === "failed" || (this.#state === "loaded" && this.#next !== null)
                ? h(
                      "button",
                      { class: "more", onclick: () => void this.#load() },
                      this.#state === "failed" ? "Try again" : "Earlier matches",
                  )
                : null,
        );
    }
}
