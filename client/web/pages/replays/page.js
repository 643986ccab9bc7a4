/**
 * The list of finished matches, the latest first, in pages.
 *
 * @import {App, Page} from "../../shell/app.js"
 * @import {GameDescription, MatchSummary} from "../../shell/api.js"
 * @import {Content} from "../../shell/elements.js"
 */

import { listGames, listMatches } from "../../shell/api.js";
import { h } from "../../shell/elements.js";
import { drawMatch } from "../../ui/matches.js";

/** Maximum number of matches that one request loads. */
const PAGE_SIZE = 30;

/** @implements {Page} */
export class ReplaysPage {
    #app;
    /** What the list is limited to, as the page's address has it. */
    #filter = readFilter();
    /** @type {GameDescription[]} */
    #games = [];
    /** Answers to earlier requests than this one are dropped. */
    #request = 0;
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
        // On a slow line the matches come first.
        void this.#load().then(() => this.#loadGames());
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

    /** Loads the games to choose from; without them the choice is "All games". */
    async #loadGames() {
        const games = await listGames().catch(() => []);
        this.#games = [...games].sort((a, b) => a.title.localeCompare(b.title));
        this.#app.update();
    }

    /** @param {Filter} filter */
    #change(filter) {
        this.#filter = filter;
        history.replaceState(history.state, "", addressOf(filter));
        this.#matches = [];
        this.#next = null;
        void this.#load();
    }

    async #load() {
        this.#state = "loading";
        this.#app.update();
        const request = ++this.#request;
        try {
            const { matches, next } = await listMatches(PAGE_SIZE, { before: this.#next, ...this.#filter });
            if (request !== this.#request) return;
            this.#matches = [...this.#matches, ...matches];
            this.#next = next;
            this.#state = "loaded";
        } catch (error) {
            if (request !== this.#request) return;
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
            this.#drawFilter(),
            isEmpty ? h("p", { class: "muted" }, emptyText(this.#filter)) : null,
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

    #drawFilter() {
        const { player, game } = this.#filter;
        const you = this.#app.model.you?.identity;
        const onGame = (/** @type {Event} */ { currentTarget }) =>
            currentTarget instanceof HTMLSelectElement && this.#change({ player, game: currentTarget.value });
        const onMine = (/** @type {Event} */ { currentTarget }) =>
            currentTarget instanceof HTMLInputElement &&
            this.#change({ player: currentTarget.checked ? (you ?? "") : "", game });
        const isOther = player !== "" && player !== you;
        return h(
            "div",
            { class: "filter" },
            h(
                "label",
                null,
                "Game ",
                h(
                    "select",
                    { onchange: onGame },
                    h("option", { value: "", selected: game === "" }, "All games"),
                    this.#games.map(({ id, title }) => h("option", { value: id, selected: id === game }, title)),
                ),
            ),
            isOther
                ? h("button", { key: "all", class: "small", onclick: () => this.#change({ player: "", game }) }, "Show those of all players")
                : h("label", { key: "mine" }, h("input", { type: "checkbox", ".checked": player !== "", onchange: onMine }), " Only mine"),
        );
    }
}

/** What the list is limited to: the identity of a player, and the id of a game; "" for all. @typedef {{player: string, game: string}} Filter */

/** @returns {Filter} */
function readFilter() {
    const query = new URLSearchParams(location.search);
    return { player: query.get("player") ?? "", game: query.get("game") ?? "" };
}

/** @param {Filter} filter */
function addressOf(filter) {
    const query = new URLSearchParams(Object.entries(filter).filter(([, value]) => value !== ""));
    return query.size > 0 ? `/replays?${query}` : "/replays";
}

/** @param {Filter} filter */
function emptyText({ player, game }) {
    return player || game ? "No finished match is like that." : "There are no finished matches yet.";
}
