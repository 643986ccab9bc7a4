/**
 * The lobby: the games, your matches, the public rooms, and the latest finished matches.
 *
 * @import {App, Page} from "../../shell/app.js"
 * @import {GameDescription, MatchSummary, MyMatches} from "../../shell/api.js"
 * @import {Content} from "../../shell/elements.js"
 * @import {Choices} from "./choices.js"
 * @import {Model} from "../../shell/model.js"
 * @import {GameSheet} from "./sheet.js"
 */

import { ApiError, listGames, listMatches, listMyMatches } from "../../shell/api.js";
import { CommandError } from "../../shell/connection.js";
import { h } from "../../shell/elements.js";
import { MAX_OFFERED, createCommand, keepChoices, readChoices, validChoices } from "./choices.js";
import { drawGames } from "./games.js";
import { drawMine, drawPublic } from "./rooms.js";
import { drawMatch } from "../../ui/matches/matches.js";
import { sentence } from "../../shell/words.js";

/** Maximum number of finished matches in the lobby. */
const MAX_LATEST_MATCHES = 5;
/** Shortest time between two requests for your matches, in milliseconds. */
const REFRESH_MS = 5000;

/** The screens with one column, on which your matches stand above the games. */
const narrow = matchMedia("(max-width: 860px) and (min-height: 481px)");

/** Loads the module of the sheets, which the first view of the lobby does not need. */
const loadSheet = () => import("./sheet.js");

/** @implements {Page} */
export class LobbyPage {
    #app;
    /** @type {GameDescription[] | null} */
    #games = null;
    /** The latest choices, the latest first. @type {Choices[]} */
    #kept = [];
    /** The text to find in the names of the games. */
    #searched = "";
    #isCreating = false;
    /** @type {MatchSummary[]} */
    #latest = [];
    /** @type {MyMatches | null} */
    #mine = null;
    /** Whether a request for your matches is under way, or waits for its time. */
    #isRefreshing = false;
    #isStopped = false;
    /** @type {GameSheet | null} */
    #sheet = null;
    #onResize = () => this.#app.update();

    /** @param {App} app */
    constructor(app) {
        this.#app = app;
    }

    start() {
        this.#app.session.watchLobby(true);
        narrow.addEventListener("change", this.#onResize);
        void this.#load();
        if (this.#app.model.you) void this.#refreshMine(0);
    }

    stop() {
        this.#isStopped = true;
        this.#sheet?.close();
        narrow.removeEventListener("change", this.#onResize);
        this.#app.session.watchLobby(false);
    }

    /** @param {Model} before */
    onModelChange(before) {
        const { lobby, you } = this.#app.model;
        if (you && before.you !== you) void this.#refreshMine(0);
        else if (you && before.lobby && before.lobby !== lobby) void this.#refreshMine(REFRESH_MS);
    }

    onReconnect() {
        if (this.#games === null) void this.#load();
    }

    onKey() {}

    afterDraw() {}

    title() {
        return "Plyroom";
    }

    async #load() {
        try {
            this.#games = await listGames();
            this.#kept = readChoices(this.#games);
            this.#app.update();
            // The next click may open a sheet; if this fails, that click tries again.
            loadSheet().catch(() => {});
            this.#latest = (await listMatches(MAX_LATEST_MATCHES)).matches;
        } catch (error) {
            this.#app.toast(error instanceof Error ? error.message : String(error));
        }
        this.#app.update();
    }

    /**
     * Reads your matches after a delay; changes of the lobby during the delay need no other request.
     * @param {number} after_ms
     */
    async #refreshMine(after_ms) {
        if (this.#isRefreshing) return;
        this.#isRefreshing = true;
        await new Promise((resolve) => setTimeout(resolve, after_ms));
        this.#isRefreshing = false;
        if (this.#isStopped) return;
        try {
            this.#mine = await listMyMatches();
        } catch (error) {
            // They stay as they are; the next change of the lobby requests them again.
            if (!(error instanceof ApiError || error instanceof TypeError)) throw error;
        }
        this.#app.update();
    }

    /** @returns {Content} */
    draw() {
        const join = (/** @type {string} */ room) => this.#app.navigate(`/room/${room}`, { sit: true });
        const games = this.#games ?? [];
        const mine = drawMine(this.#app.model, games, this.#mine);
        const isNarrow = narrow.matches;
        return h(
            "div",
            { class: "page lobby" },
            h("h1", { class: "visually-hidden" }, "Lobby"),
            this.#drawGames(isNarrow ? mine : null),
            h(
                "div",
                { class: "lists" },
                isNarrow ? null : mine,
                drawPublic(this.#app.model, games, join),
                this.#drawLatest(),
            ),
        );
    }

    /** @param {Content} mine your matches, where they stand among the games */
    #drawGames(mine) {
        const games = this.#games;
        if (!games)
            return h(
                "section",
                { class: "card create", "aria-label": "New match", key: "games" },
                h("p", { class: "muted" }, "Loading the games…"),
            );
        const kept = this.#kept.slice(0, MAX_OFFERED);
        const offered = kept.length > 0 || games.length === 0 ? kept : [validChoices(games[0])];
        return drawGames(games, offered, this.#searched, this.#isCreating, mine, {
            play: (choices) => void this.#play(choices),
            open: (game) => void this.#open(game),
            search: (text) => {
                this.#searched = text;
                this.#app.update();
            },
        });
    }

    #drawLatest() {
        if (this.#latest.length === 0) return null;
        const now_ms = Date.now();
        return h(
            "section",
            { class: "rooms", "aria-label": "Finished matches" },
            h("h2", { class: "latest" }, "Just finished", h("a", { href: "/replays" }, "All replays")),
            h(
                "ul",
                { class: "card list matches" },
                this.#latest.map((match) => drawMatch(match, now_ms)),
            ),
        );
    }

    /**
     * Opens the sheet of a game, with the latest choices for this game or else for any.
     * @param {GameDescription} game
     */
    async #open(game) {
        const before = this.#kept.find((choices) => choices.game === game.id) ?? this.#kept[0];
        const sheets = await loadSheet().catch(() => null);
        if (sheets === null) return this.#app.toast("The server did not send this part of the page; try again.");
        if (this.#isStopped) return;
        this.#sheet?.close();
        this.#sheet = new sheets.GameSheet(game, validChoices(game, before), (choices) => this.#create(choices));
        this.#sheet.open();
    }

    /**
     * Creates a room from choices that are offered again.
     * @param {Choices} choices
     */
    async #play(choices) {
        if (this.#isCreating) return;
        this.#isCreating = true;
        this.#app.update();
        const refusal = await this.#create(choices);
        this.#isCreating = false;
        if (refusal !== null) this.#app.toast(sentence(refusal.message));
        this.#app.update();
    }

    /**
     * Creates a room and enters it. Resolves with the refusal, or with null.
     * @param {Choices} choices
     * @returns {Promise<CommandError | null>}
     */
    async #create(choices) {
        try {
            const { room } = await this.#app.session.command(createCommand(choices, Math.random()));
            keepChoices(choices);
            if (room) this.#app.navigate(`/room/${room}`);
            return null;
        } catch (error) {
            if (!(error instanceof CommandError)) throw error;
            return error;
        }
    }
}
