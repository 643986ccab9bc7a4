/**
 * The list of finished matches in pages, the latest first. The address has the filter and the page.
 *
 * @import {App, Page} from "../../shell/app.js"
 * @import {GameDescription, MatchSummary} from "../../shell/api.js"
 * @import {Content} from "../../shell/elements.js"
 * @import {Filter} from "./filter.js"
 * @import {MatchPage} from "./reading.js"
 */

import { listGames, listMatches } from "../../shell/api.js";
import { h } from "../../shell/elements.js";
import { loadStyleSheet } from "../../shell/style-sheets.js";
import { agoText, sentence } from "../../shell/words.js";
import { drawMatch } from "../../ui/matches/matches.js";
import { NO_FILTER, addressOf, leavesOutMatches, parametersOf, parseFilter, withChanges } from "./filter.js";
import { drawForm, peopleOf } from "./form.js";
import { PAGE_SIZE, momentOf, readPage } from "./reading.js";

/**
 * The page that was shown last and its address, for a user who comes back while there is no connection.
 * @type {{address: string, page: MatchPage} | null}
 */
let shownLast = null;

/** On a small window the filter is folded. */
const small = matchMedia("(max-width: 560px), (max-height: 519.98px)");

/** @implements {Page} */
export class ReplaysPage {
    #app;
    #filter = parseFilter(location.search);
    /** The people of the matches that were shown, by identity. @type {Record<string, string>} */
    #people = {};
    /** @type {GameDescription[]} */
    #games = [];
    /** Answers to earlier requests than this one are dropped. */
    #request = 0;
    /** @type {MatchSummary[]} */
    #matches = [];
    /** The cursor of the page with older matches; null on the last one. @type {string | null} */
    #next = null;
    /** The cursor of the page with newer matches; null on the first one. @type {string | null} */
    #previous = null;
    /** "searching" while the page shows what it has and looks for more. */
    #state = /** @type {"loading" | "searching" | "loaded" | "failed"} */ ("loading");
    /** Why the matches could not be loaded, as a sentence. */
    #failure = "";
    /** Whether the filter is open on a small window. */
    #isFilterOpen = leavesOutMatches(this.#filter);
    #onResize = () => this.#app.update();

    /** @param {App} app */
    constructor(app) {
        this.#app = app;
    }

    start() {
        small.addEventListener("change", this.#onResize);
        if (shownLast?.address === addressOf(this.#filter)) this.#show(shownLast.page, "loading");
        // On a slow line the matches come first.
        void this.#load().then(() => this.#loadGames());
    }

    stop() {
        this.#request++;
        small.removeEventListener("change", this.#onResize);
    }

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

    /** @param {Partial<Filter>} changes */
    #change(changes) {
        this.#filter = withChanges(this.#filter, changes);
        history.replaceState(history.state, "", addressOf(this.#filter));
        void this.#load();
    }

    async #load() {
        this.#state = "loading";
        this.#app.update();
        const request = ++this.#request;
        try {
            const goesOn = (/** @type {MatchPage} */ page) => request === this.#request && this.#show(page, "searching");
            const page = await readPage(listMatches, this.#filter, goesOn);
            if (request !== this.#request) return;
            shownLast = { address: addressOf(this.#filter), page };
            this.#show(page, "loaded");
            return;
        } catch (error) {
            if (request !== this.#request) return;
            this.#state = "failed";
            this.#failure = sentence(error instanceof Error ? error.message : String(error));
        }
        this.#app.update();
    }

    /**
     * Shows a page as far as it is read. Returns true.
     * @param {MatchPage} page
     * @param {"loading" | "searching" | "loaded"} state
     */
    #show({ matches, next, previous = null }, state) {
        [this.#matches, this.#next, this.#previous, this.#state] = [matches, next, previous, state];
        this.#people = { ...this.#people, ...peopleOf(matches) };
        this.#app.update();
        return true;
    }

    /** @returns {Content} */
    draw() {
        const change = (/** @type {Partial<Filter>} */ changes) => this.#change(changes);
        const you = this.#app.model.you?.identity;
        const isLoading = this.#state === "loading";
        const hasFailed = this.#state === "failed";
        const hasMatches = this.#matches.length > 0;
        const isLastVisit = hasMatches && shownLast?.address === addressOf(this.#filter);
        const failed = isLastVisit ? "This list is from your last visit." : "The matches could not be loaded.";
        return h(
            "div",
            { class: "page narrow" },
            h("h1", null, "Replays"),
            this.#drawFilter(drawForm(this.#filter, { games: this.#games, people: this.#people, you, change })),
            this.#drawOwn(you),
            hasFailed ? h("p", { key: "failed", role: "alert" }, `${failed} ${this.#failure}`) : null,
            // While the connection is lost, the banner has this button.
            hasFailed && this.#app.session.status.state !== "lost"
                ? h("p", { key: "again" }, h("button", { class: "small", onclick: () => void this.#load() }, "Try again"))
                : null,
            hasMatches
                ? h(
                      "ul",
                      { class: ["card list matches", (isLoading || (hasFailed && !isLastVisit)) && "outdated"], "aria-busy": isLoading },
                      this.#matches.map((match) => drawMatch(match, Date.now())),
                  )
                : null,
            h("p", { key: "state", class: "muted", role: "status" }, this.#stateText()),
            hasMatches && !hasFailed ? h("p", { key: "files" }, h("button", { class: "small", onclick: () => void this.#openDownload() }, "Download these matches")) : null,
            hasFailed ? null : this.#drawPages(),
        );
    }

    /** @param {Content} form */
    #drawFilter(form) {
        if (!small.matches) return form;
        const onToggle = (/** @type {Event} */ { currentTarget }) => {
            if (!(currentTarget instanceof HTMLDetailsElement) || currentTarget.open === this.#isFilterOpen) return;
            this.#isFilterOpen = currentTarget.open;
            this.#app.update();
        };
        return h("details", { key: "filter", open: this.#isFilterOpen, ontoggle: onToggle }, h("summary", null, "Filter"), form);
    }

    /** Opens the dialog with the files of all matches that the filter accepts, of every page. */
    async #openDownload() {
        const { before: _before, after: _after, ...filter } = parametersOf(this.#filter);
        const game = this.#games.find(({ id }) => id === filter.game);
        // Every game has these two formats.
        const general = this.#games[0]?.formats?.filter(({ name }) => name === "pgn" || name === "jsonl") ?? [];
        try {
            const [{ openDownload }] = await Promise.all([import("../../ui/files.js"), loadStyleSheet("ui/files.css")]);
            await openDownload({
                formats: game?.formats ?? general,
                pathOf: (format) => `/api/export?${new URLSearchParams({ ...filter, format })}`,
                hasText: false,
                note: `The file has all finished public matches${leavesOutMatches(this.#filter) ? " that fit the filter" : ""}, the latest first.`,
                announce: (text) => this.#app.announce(text),
            });
        } catch {
            this.#app.missing();
        }
    }

    /** What the page is doing, or why it is not full; "" if there is nothing to say. */
    #stateText() {
        const isEmpty = this.#matches.length === 0;
        if (this.#state === "loading") return isEmpty ? "Loading…" : "";
        if (this.#state === "failed" || this.#matches.length >= PAGE_SIZE) return "";
        const place = this.#next === null ? "" : agoText(momentOf(this.#next), Date.now());
        if (this.#state === "searching") return `Looking further back: ${place}…`;
        if (place && this.#filter.after === "") return `${isEmpty ? "No such match. " : ""}Searched back to ${place}; earlier matches may fit too.`;
        if (!isEmpty) return "";
        return leavesOutMatches(this.#filter) ? "No finished match fits this filter." : "No public match is over yet.";
    }

    /**
     * The way to the matches that only their players see.
     * @param {string | undefined} you
     */
    #drawOwn(you) {
        if (this.#state !== "loaded" || this.#filter.player !== "" || you === undefined) return null;
        const isEmpty = this.#matches.length === 0;
        const isMain = isEmpty && !leavesOutMatches(this.#filter);
        // A filter without a public match may have none of one's own.
        const changes = { ...(isEmpty ? NO_FILTER : null), player: you };
        return h(
            "p",
            { key: "own", class: "own-matches" },
            "Matches in rooms by link are listed only for those who played them. ",
            h("button", { class: isMain ? "main" : "small", onclick: () => this.#change(changes) }, "Show my matches"),
        );
    }

    #drawPages() {
        if (this.#next === null && this.#previous === null) return null;
        const linkTo = (/** @type {string} */ text, /** @type {Partial<Filter>} */ cursor) =>
            h("a", { key: text, class: "button", href: addressOf({ ...this.#filter, before: "", after: "", ...cursor }) }, text);
        return h(
            "nav",
            { class: "pages", "aria-label": "Pages" },
            this.#previous === null ? null : linkTo("Latest", {}),
            this.#previous === null ? null : linkTo("Later matches", { after: this.#previous }),
            this.#next === null ? null : linkTo("Earlier matches", { before: this.#next }),
        );
    }
}
