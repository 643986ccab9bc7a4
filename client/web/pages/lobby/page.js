/**
 * The first page: what Plyroom is, the doors, the games, your matches, the public rooms, and what is
 * inside the other pages.
 *
 * @import {App, Page} from "../../shell/app.js"
 * @import {GameDescription, MatchSummary, MyMatches, Topic} from "../../shell/api.js"
 * @import {Content} from "../../shell/elements.js"
 * @import {Choices} from "./choices.js"
 * @import {Names, Way} from "./doors.js"
 * @import {Model} from "../../shell/model.js"
 * @import {GameSheet} from "./sheet.js"
 * @import {ClockField} from "../../ui/clock/field.js"
 */

import { listGames, listLessons, listMatches } from "../../shell/api.js";
import { CommandError } from "../../shell/connection.js";
import { h } from "../../shell/elements.js";
import { MAX_OFFERED, createCommand, readChoices, validChoices } from "./choices.js";
import { keepChoices } from "../../ui/matches/kept.js";
import { choicesThrough, drawDoors, headingOf, opponentOf } from "./doors.js";
import { drawGames, drawOffered } from "./games.js";
import { drawLatest, drawLearn, drawTerminal } from "./inside.js";
import { currentOf, drawMine, drawPublic, drawWaiting, isAlreadyThere, isOneScreen } from "./rooms.js";
import { sentence } from "../../shell/words.js";

/** Maximum number of finished matches in the lobby. */
const MAX_LATEST_MATCHES = 5;
/** Shortest time between two requests for your matches, in milliseconds. */
const REFRESH_MS = 5000;

/** The clocks in the lists show seconds. */
const TICK_MS = 1000;

/** The screens with one column, on which your matches stand above the games. */
const narrow = matchMedia("(max-width: 860px)");

/**
 * What the page showed last, for a user who comes back while there is no connection.
 * @type {{latest: MatchSummary[] | null, topics: Topic[], mine: MyMatches | null}}
 */
const shown = { latest: null, topics: [], mine: null };

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
    /** The class of time controls of the rooms in the list, "" for all. */
    #speed = "";
    /** Draws the times that are left again; it runs while a list has some. */
    #ticking = 0;
    /** The open door. @type {Way | null} */
    #way = null;
    /** The time control of what a door starts, loaded when the door is opened. @type {ClockField | null} */
    #clock = null;
    /** The names of two people on this screen. @type {Names} */
    #names = ["", ""];
    /** The latest finished matches; null before they arrive. @type {MatchSummary[] | null} */
    #latest = shown.latest;
    /** All lessons by topic, in the recommended order. @type {Topic[]} */
    #topics = shown.topics;
    /** @type {MyMatches | null} */
    #mine = shown.mine;
    /** Whether your matches were requested since the page is open. */
    #isMineKnown = false;
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
        clearTimeout(this.#ticking);
        this.#sheet?.close();
        narrow.removeEventListener("change", this.#onResize);
        this.#app.session.watchLobby(false);
    }

    /** @param {Model} before */
    onModelChange(before) {
        const { lobby, you, waiting } = this.#app.model;
        if (you && (before.you !== you || before.waiting !== waiting)) void this.#refreshMine(0);
        else if (you && before.lobby && before.lobby !== lobby) void this.#refreshMine(REFRESH_MS);
    }

    onReconnect() {
        if (this.#games === null || this.#latest === null) void this.#load();
    }

    onKey() {}

    /** Sets the timer for the next texts of the clocks in the lists, each second. */
    afterDraw() {
        clearTimeout(this.#ticking);
        if (document.querySelector(".left-time.runs") && !this.#isStopped)
            this.#ticking = window.setTimeout(() => this.#app.update(), TICK_MS);
    }

    title() {
        return "Plyroom";
    }

    async #load() {
        try {
            this.#games = await listGames();
            this.#kept = readChoices(this.#games);
            this.#names = this.#kept.find(({ names }) => names)?.names ?? this.#names;
            this.#app.update();
            // The next click may open a sheet; if this fails, that click tries again.
            loadSheet().catch(() => {});
            shown.latest = this.#latest = (await listMatches(MAX_LATEST_MATCHES)).matches;
            this.#app.update();
            shown.topics = this.#topics = await listLessons();
        } catch (error) {
            // The frame says already that the connection is lost; the page loads again when it is back.
            if (this.#app.session.status.state !== "lost") {
                this.#app.toast(error instanceof Error ? error.message : String(error));
                this.#latest ??= [];
            }
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
        if (!this.#isStopped) await this.#readMine();
    }

    /** Reads your matches. Without an answer they stay as they are; the next change of the lobby requests them again. */
    async #readMine() {
        shown.mine = this.#mine = (await this.#app.listMyMatches()) ?? this.#mine;
        this.#isMineKnown = true;
        this.#app.update();
    }

    /** @returns {Content} */
    draw() {
        const join = (/** @type {string} */ room) => this.#isServerThere() && this.#app.navigate(`/room/${room}`, { sit: true });
        const games = this.#games ?? [];
        const now_ms = this.#app.session.serverTime_ms();
        const mine = drawMine(this.#app.model, games, this.#mine, now_ms);
        const isNarrow = narrow.matches;
        return h(
            "div",
            { class: "page lobby" },
            h("h1", null, "Play board games with friends, or against a computer whose thinking you can watch."),
            h(
                "div",
                { class: "play" },
                this.#drawOffered(games),
                isNarrow ? mine : null,
                drawDoors(this.#way, (way) => this.#openDoor(way), this.#names, (names) => {
                    this.#names = names;
                    this.#app.update();
                }),
                isNarrow ? drawWaiting(this.#app.model) : null,
                this.#drawGames(),
            ),
            h(
                "div",
                { class: "lists" },
                isNarrow ? null : mine,
                drawPublic(this.#app.model, games, join, { now_ms, speed: this.#speed, pick: (speed) => this.#pickSpeed(speed) }, this.#app.offline),
                drawLearn(this.#topics),
                drawLatest(this.#latest, Date.now()),
                drawTerminal(),
            ),
        );
    }

    /**
     * The latest choices, without those whose room is among your matches: they appear with these.
     * @param {GameDescription[]} games
     */
    #drawOffered(games) {
        if (!this.#isMineKnown) return null;
        const current = currentOf(this.#app.model, this.#mine);
        const offered = this.#kept.filter((choices) => !isAlreadyThere(choices, current)).slice(0, MAX_OFFERED);
        const attributes = { disabled: this.#isCreating, ...this.#app.offline };
        return drawOffered(games, offered, current.length === 0, attributes, (choices) => void this.#play(choices));
    }

    /** Whether a press can do what it is for; says so while the server is away. */
    #isServerThere() {
        const { isAway } = this.#app.session;
        if (isAway) this.#app.toast("Not connected");
        return !isAway;
    }

    /** @param {string} speed */
    #pickSpeed(speed) {
        this.#speed = speed;
        this.#app.update();
    }

    /** @param {Way | null} way */
    #openDoor(way) {
        const isSame = way !== null && this.#way !== null && opponentOf(way) === opponentOf(this.#way);
        this.#way = way;
        if (!isSame) this.#clock = null;
        if (way !== null && !isSame) void this.#loadClock();
        this.#app.announce(way === null ? "" : headingOf(way));
        // On a narrow screen the games are below the doors; the names of two on this screen are in theirs.
        const heading = way !== null && way !== "screen" && narrow.matches ? document.querySelector("#games-heading") : null;
        heading?.scrollIntoView({ block: "start" });
    }

    async #loadClock() {
        const loaded = await import("../../ui/clock/field.js").catch(() => null);
        if (!loaded) return this.#app.missing();
        this.#clock ??= new loaded.ClockField(this.#lastClock() ?? null, () => this.#app.update());
        this.#app.update();
    }

    /** The time control of what a door starts: as it is chosen, or else as it was the last time. */
    #chosenClock() {
        return { clock: this.#clock ? (this.#clock.value ?? undefined) : this.#lastClock() };
    }

    /** The latest time control behind the open door: a friend's is not one for a child on this screen. */
    #lastClock() {
        const opponent = this.#way && opponentOf(this.#way);
        return this.#kept.find((choices) => choices.opponent === opponent)?.clock;
    }

    #drawGames() {
        const games = this.#games;
        if (!games)
            return h(
                "section",
                { class: "create awaited", "aria-label": "New match", key: "games" },
                h("p", { class: "muted" }, "Loading the games…"),
            );
        const open = (/** @type {GameDescription} */ game) => void this.#open(game);
        const way = this.#way;
        const startsAtOnce = way !== null && way !== "more";
        const handlers = {
            offline: this.#app.offline,
            pick: (/** @type {GameDescription} */ game) => (startsAtOnce ? this.#start(way, game) : open(game)),
            choose: startsAtOnce ? open : null,
            search: (/** @type {string} */ text) => {
                this.#searched = text;
                this.#app.update();
            },
        };
        return drawGames(games, headingOf(way), this.#searched, handlers, way === null ? null : this.#clock?.drawSelect());
    }

    /**
     * Starts a game in the way of the open door.
     * @param {Way} way
     * @param {GameDescription} game
     */
    #start(way, game) {
        const before = { ...this.#before(game, false), ...this.#chosenClock() };
        const choices = choicesThrough(way, game, before, this.#names);
        if (choices) void this.#play(choices);
    }

    /**
     * The latest choices for a game, or else for any.
     * @param {GameDescription} game
     * @param {boolean} orAny
     */
    #before(game, orAny = true) {
        return this.#kept.find((choices) => choices.game === game.id) ?? (orAny ? this.#kept[0] : undefined);
    }

    /**
     * Opens the sheet of a game, with the latest choices for this game or else for any.
     * @param {GameDescription} game
     */
    async #open(game) {
        if (!this.#isServerThere()) return;
        const before = { ...this.#before(game), door: false, ...(this.#way !== null && this.#chosenClock()) };
        const through = this.#way && this.#way !== "more" ? choicesThrough(this.#way, game, before, this.#names) : null;
        const choices = through ?? validChoices(game, this.#way === "more" ? { ...before, opponent: "ai" } : before);
        const sheets = await loadSheet().catch(() => null);
        if (sheets === null) return this.#app.missing();
        if (this.#isStopped) return;
        this.#sheet?.close();
        this.#sheet = new sheets.GameSheet(game, choices, (chosen) => this.#create(chosen));
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
        if (!(refusal instanceof CommandError)) return this.#app.update();
        if (refusal.code === "clock.refused" && this.#clock?.isOther) this.#clock.refuse(refusal.message);
        else this.#app.toast(sentence(refusal.message));
        this.#app.update();
    }

    /**
     * The user's running match of the same game on one screen, which a new one would stand beside.
     * @param {Choices} choices
     */
    async #unfinished({ game, opponent }) {
        if (opponent !== "screen") return undefined;
        if (!this.#isMineKnown) await this.#readMine(); // the user was faster
        return this.#mine?.running.find((match) => match.game === game && isOneScreen(match));
    }

    /**
     * Asks whether to go on with an unfinished match ("on") or to start another ("new"); "" for neither.
     * @param {MatchSummary} match
     */
    async #askToGoOn({ title, length, plies }) {
        const dialogs = await import("../../ui/dialogs.js").catch(() => null);
        if (dialogs === null) return "new";
        return dialogs.openDialog({
            title: `Go on with ${title}?`,
            name: "confirm",
            content: h("p", null, `Your match on this screen is not over${plies > 0 ? `: ${length}` : ""}. A new one does not end it.`),
            buttons: [h("button", { value: "new" }, "New match"), h("button", { value: "on", class: "main", autofocus: true }, "Go on")],
        });
    }

    /**
     * Creates a room and enters it, or enters the one that is to go on. Resolves with the refusal,
     * "cancelled" if the user wants neither, or null.
     * @param {Choices} choices
     * @returns {Promise<CommandError | "cancelled" | null>}
     */
    async #create(choices) {
        const unfinished = await this.#unfinished(choices);
        const answer = unfinished ? await this.#askToGoOn(unfinished) : "new";
        if (answer === "") return "cancelled";
        if (unfinished && answer === "on") {
            this.#app.navigate(`/room/${unfinished.room}`);
            return null;
        }
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
