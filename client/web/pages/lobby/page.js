/**
 * The lobby: a form to create a room, the public rooms, and the latest finished matches.
 *
 * @import {App, Page} from "../../shell/app.js"
 * @import {GameDescription, MatchSummary} from "../../shell/api.js"
 * @import {Content} from "../../shell/elements.js"
 * @import {Choices} from "./form.js"
 */

import { listGames, listMatches } from "../../shell/api.js";
import { h } from "../../shell/elements.js";
import { drawForm, initialChoices, seatsFor } from "./form.js";
import { drawRooms } from "./rooms.js";
import { drawMatch } from "../../ui/matches.js";

/** Maximum number of finished matches in the lobby. */
const MAX_LATEST_MATCHES = 5;

/** @implements {Page} */
export class LobbyPage {
    #app;
    /** @type {GameDescription[] | null} */
    #games = null;
    /** @type {Choices | null} */
    #choices = null;
    #isCreating = false;
    /** @type {MatchSummary[]} */
    #latest = [];

    /** @param {App} app */
    constructor(app) {
        this.#app = app;
    }

    start() {
        this.#app.session.watchLobby(true);
        void this.#load();
    }

    stop() {
        this.#app.session.watchLobby(false);
    }

    onModelChange() {}

    onKey() {}

    afterDraw() {}

    title() {
        return "Plyroom";
    }

    async #load() {
        try {
            this.#games = await listGames();
            this.#choices ??= initialChoices(this.#games[0]);
            this.#app.update();
            this.#latest = (await listMatches(MAX_LATEST_MATCHES)).matches;
        } catch (error) {
            this.#app.toast(error instanceof Error ? error.message : String(error));
        }
        this.#app.update();
    }

    /** @returns {Content} */
    draw() {
        const join = (/** @type {string} */ room) => this.#app.navigate(`/room/${room}`, { sit: true });
        const rooms = drawRooms(this.#app.model, this.#games ?? [], join);
        return h(
            "div",
            { class: "page lobby" },
            h("h1", { class: "visually-hidden" }, "Lobby"),
            this.#drawForm(),
            h("div", null, rooms, this.#drawLatest()),
        );
    }

    #drawForm() {
        const games = this.#games;
        const choices = this.#choices;
        if (!games || !choices)
            return h(
                "section",
                { class: "card create", "aria-label": "New room", key: "form" },
                h("p", { class: "muted" }, "Loading the games…"),
            );
        const change = (/** @type {Partial<Choices>} */ changes) => {
            this.#choices = { ...choices, ...changes };
            this.#app.update();
        };
        return drawForm(games, choices, change, () => void this.#create(), this.#isCreating);
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

    async #create() {
        const choices = this.#choices;
        if (!choices || this.#isCreating) return;
        this.#isCreating = true;
        this.#app.update();
        const { game, options, visibility } = choices;
        const ack = await this.#app.command({
            t: "create",
            game,
            options,
            visibility,
            seats: seatsFor(choices, Math.random()),
        });
        this.#isCreating = false;
        if (ack?.room) this.#app.navigate(`/room/${ack.room}`);
        else this.#app.update();
    }
}
