/**
 * The page that replays a match, with the AI's search for each of its moves. The page's address
 * contains the shown ply.
 *
 * @import {App, Page} from "../../shell/app.js"
 * @import {StoredMatch} from "../../shell/api.js"
 * @import {MoveView, PositionView} from "../../shell/protocol.js"
 * @import {Content} from "../../shell/elements.js"
 * @import {Thought} from "../../shell/model.js"
 * @import {Player} from "../../ui/players.js"
 */

import { MAX_ASSESSED_PLIES, MAX_VIEWS_PER_REQUEST, readAssessments, readMatch, readViews } from "../../shell/api.js";
import { boardAspect, isFlipped } from "../../board/geometry.js";
import { h } from "../../shell/elements.js";
import { assessed, thoughtsOf } from "../../shell/model.js";
import { drawGlassLink, drawMoves, drawStepper, glassPath, plyForKey, scrollToShown, seatOf } from "../../ui/moves.js";
import { drawRulesButton } from "../../ui/rules.js";
import { SearchTree } from "../../ui/search-tree.js";
import { Share } from "../../ui/share.js";
import { drawSettingsButton, openKeysHelp } from "../../ui/sheets.js";
import { drawFlip, drawTable, hasAi, resultFor } from "../../ui/table.js";
import { drawPanel, drawTabs, onTabsChange } from "../../ui/tabs.js";
import { NOT_SEARCHED, ThinkingPanel, thoughtFor, thoughtHeading } from "../../ui/thinking.js";
import {
    agoText,
    numberedMove,
    optionsText,
    playersOfSeat,
    pointsText,
    resultText,
    sentenceOf,
    sideColours,
    sideName,
    substitutionText,
    versus,
} from "../../shell/words.js";

/** One empty list for all scenes, because a scene with another list is drawn again. @type {MoveView[]} */
const NO_MOVES = [];

/** @implements {Page} */
export class ReplayPage {
    #app;
    #id;
    /** @type {StoredMatch | null} */
    #match = null;
    /** @type {Record<number, PositionView>} */
    #views = {};
    /** @type {Record<number, Thought>} */
    #thoughts = {};
    #shown;
    /** @type {PositionView | null} */
    #drawnPosition = null;
    #isTurned = false;
    /** @type {string | null} */
    #failure = null;
    /** The ply to which the list of moves was last scrolled, and its height. */
    #scrolledTo = "";
    #selectedTab = "moves";
    #stopListening;
    #share;
    #thinking;
    #searchTree;
    /** The first plies of the requests for words that were made. @type {Set<number>} */
    #requestedWords = new Set();

    /**
     * @param {App} app
     * @param {string} id
     */
    constructor(app, id) {
        this.#app = app;
        this.#id = id;
        this.#shown = plyInAddress();
        const announce = (/** @type {string} */ text) => app.announce(text);
        this.#share = new Share("Link to this position", `/match/${id}`, () => app.update(), announce);
        this.#thinking = new ThinkingPanel(() => app.update());
        this.#searchTree = new SearchTree(app, () => import("../../glass/seat-tree.js"));
        this.#stopListening = onTabsChange(() => app.update());
    }

    start() {
        void this.#share.load();
        this.#failure = null;
        this.#load().catch((error) => {
            this.#failure = error instanceof Error ? error.message : String(error);
            // A match that is shown already stays.
            if (this.#match) this.#app.toast(this.#failure);
            this.#app.update();
        });
    }

    onReconnect() {
        if (this.#failure !== null) this.start();
    }

    stop() {
        this.#stopListening();
        this.#searchTree.stop();
        this.#match = null;
    }

    onModelChange() {}

    async #load() {
        const match = await readMatch(this.#id);
        this.#match = match;
        this.#thoughts = thoughtsOf(match.thoughts);
        this.#shown = Math.min(this.#shown ?? 0, match.moves.length);
        this.#app.update();
        if (match.view === null) return;
        this.#requestWords(match, this.#shown);
        // The request with the shown ply is made first, then all others, so that stepping never waits.
        const lastRequest = Math.floor(match.moves.length / MAX_VIEWS_PER_REQUEST);
        const shownRequest = Math.floor(this.#shown / MAX_VIEWS_PER_REQUEST);
        for (const index of new Set([shownRequest, ...Array(lastRequest + 1).keys()]))
            await this.#loadViews(match, index);
    }

    /**
     * Requests MAX_VIEWS_PER_REQUEST views, or those that remain.
     * @param {StoredMatch} match
     * @param {number} index which of the match's requests, counted from 0
     */
    async #loadViews(match, index) {
        const from = index * MAX_VIEWS_PER_REQUEST;
        const views = await readViews(match.match, from, Math.min(match.moves.length, from + MAX_VIEWS_PER_REQUEST - 1));
        this.#views = { ...this.#views, ...views };
        this.#app.update();
    }

    title() {
        return this.#match
            ? `Replay – ${this.#match.title}: ${versus(this.#match.seats)} – Plyroom`
            : "Replay – Plyroom";
    }

    /** @param {KeyboardEvent} event */
    onKey(event) {
        if (!this.#match) return;
        if (event.key === "?") openKeysHelp(this.#app);
        else if (event.key === "f") this.#turnBoard();
        else {
            const ply = plyForKey(event.key, this.#shown ?? 0, this.#match.moves.length);
            if (ply === null) return;
            this.#showPly(ply);
        }
        event.preventDefault();
    }

    afterDraw() {
        const list = document.querySelector(".moves");
        const shownKey = `${this.#shown} ${list?.clientHeight}`;
        if (!list || this.#scrolledTo === shownKey) return;
        this.#scrolledTo = shownKey;
        scrollToShown(list);
    }

    /** @returns {Content} */
    draw() {
        if (this.#failure !== null && !this.#match)
            return h(
                "div",
                { class: "notice card" },
                h("h1", null, "This match cannot be shown"),
                h("p", null, sentenceOf(this.#failure)),
                h("p", null, h("a", { href: "/replays" }, "To the replays")),
            );
        const match = this.#match;
        if (!match) return h("p", { class: "loading", key: "loading" }, "Opening the match…");
        const thinking = this.#drawThinking(match);
        return h(
            "div",
            { class: "match-page replay", key: match.match, "--board-aspect": boardAspect(match.view?.board ?? null) },
            h(
                "h1",
                { class: "visually-hidden" },
                `Replay of ${match.title}: ${match.seats.map((_, seat) => playersOfSeat(match, seat)).join(" against ")}`,
            ),
            this.#drawTable(match),
            h(
                "div",
                { class: "right" },
                this.#drawState(match),
                this.#drawTabs(thinking !== null),
                drawPanel("thinking", this.#selectedTab, thinking),
                drawPanel("moves", this.#selectedTab, this.#drawMoves(match)),
            ),
            h("div", { class: "left" }, drawPanel("room", this.#selectedTab, this.#drawInfo(match))),
        );
    }

    /** @param {StoredMatch} match */
    #drawTable(match) {
        const shown = this.#shown ?? 0;
        this.#drawnPosition = this.#views[shown] ?? this.#drawnPosition;
        const position = this.#drawnPosition;
        const bottom = this.#isTurned ? 1 : 0;
        const scene = match.view && {
            board: match.view,
            position,
            moves: NO_MOVES,
            pending: null,
            flip: isFlipped(match.view.board, null, this.#isTurned),
            label: `${match.title} board`,
            arrows: this.#thinking.arrows,
        };
        const isAtEnd = shown === match.moves.length;
        const players = [0, 1].map((seat) => ({
            seat,
            occupant: match.seats[seat] ?? null,
            board: match.view,
            online: null,
            hands: position?.hands ?? {},
            pieces: position?.pieces ?? null,
            toMove: !isAtEnd && position?.turn === seat,
            thinking: false,
            you: false,
            result: isAtEnd ? resultFor(match.over, seat) : null,
        }));
        return drawTable({ scene, players: /** @type {[Player, Player]} */ (players), bottom });
    }

    /** @param {StoredMatch} match */
    #drawState(match) {
        const shown = this.#shown ?? 0;
        const head = match.moves.length;
        const slide = (/** @type {Event} */ event) =>
            event.currentTarget instanceof HTMLInputElement && this.#showPly(Number(event.currentTarget.value));
        const played = match.moves[shown - 1];
        const text = played ? numberedMove(played, shown - 1) : "Start position";
        const go = (/** @type {number} */ ply) => this.#showPly(ply);
        return h(
            "section",
            { class: "card state", "aria-label": "Replay" },
            h("p", { class: "status" }, text, played ? h("span", { class: "muted" }, ` of ${match.length}`) : null),
            h("input", {
                class: "slider",
                type: "range",
                min: 0,
                max: head,
                ".value": String(shown),
                "aria-label": "Ply",
                "aria-valuetext": text,
                oninput: slide,
            }),
            drawStepper({ shown, head, go }),
        );
    }

    /** @param {boolean} hasThinking */
    #drawTabs(hasThinking) {
        return drawTabs({
            label: "Parts of the replay",
            tabs: [
                { id: "moves", title: "Moves" },
                ...(hasThinking ? [{ id: "thinking", title: "Thinking" }] : []),
                { id: "room", title: "Match" },
            ],
            selected: this.#selectedTab,
            select: (id) => {
                this.#selectedTab = id;
                this.#app.update();
            },
        });
    }

    /** @param {StoredMatch} match */
    #drawThinking(match) {
        const substitutes = (match.over?.substitutions ?? []).map(({ occupant }) => occupant);
        if (!hasAi([...match.seats, ...substitutes])) return null;
        const shown = this.#shown ?? 0;
        const search = thoughtFor(this.#thoughts, shown, false);
        if (!search) return this.#thinking.draw({ thought: null, empty: match.withheld ?? (shown === 0 ? "Start position." : NOT_SEARCHED) });
        const seat = this.#views[search.ply]?.turn ?? seatOf(match.moves, search.ply);
        const side = sideName(match.view, seat);
        const played = match.moves[search.ply];
        const heading = thoughtHeading(side, search, played);
        const tree = this.#searchTree.draw(match.match, search.ply, match.seats[seat], search.thought);
        const glass = glassPath(match.match, search.ply);
        return this.#thinking.draw({ thought: search.thought, side, heading, played: played?.move ?? null, glass, tree });
    }

    /**
     * Requests the words for the searches around a ply, once.
     * @param {StoredMatch} match
     * @param {number} shown
     */
    #requestWords(match, shown) {
        const searched = Math.max(0, shown - 1);
        const first = searched - (searched % MAX_ASSESSED_PLIES);
        if (this.#requestedWords.has(first)) return;
        this.#requestedWords.add(first);
        readAssessments(match.match, first, first + MAX_ASSESSED_PLIES - 1).then(
            (assessments) => {
                this.#thoughts = assessed(this.#thoughts, assessments);
                this.#app.update();
            },
            () => this.#requestedWords.delete(first),
        );
    }

    /** @param {StoredMatch} match */
    #drawMoves(match) {
        const sides = [0, 1].map((seat) => sideName(match.view, seat));
        const list = drawMoves({
            moves: match.moves,
            shown: this.#shown ?? 0,
            go: (ply) => this.#showPly(ply),
            sides,
            colours: sideColours(match.view),
        });
        const result = match.over
            ? h(
                  "p",
                  { class: "result" },
                  h("b", null, pointsText(match.over)),
                  ` ${resultText(match.over, match.view)}: ${match.over.reason}`,
              )
            : null;
        const substitutions = (match.over?.substitutions ?? []).map((substitution) =>
            h("p", { class: "muted" }, substitutionText(substitution, match.moves)),
        );
        const link = match.withheld ? null : drawGlassLink(match.match, this.#shown ?? 0);
        return h("section", { class: "card move-card", "aria-label": "Moves" }, list, substitutions, result, link);
    }

    /** @param {StoredMatch} match */
    #drawInfo(match) {
        const options = optionsText(match.options);
        const when = match.finished_ms ?? match.started_ms;
        return h(
            "section",
            { class: "card info", "aria-label": "Match" },
            h("h2", null, match.title, options ? h("span", { class: "muted" }, options) : null),
            h(
                "p",
                { class: "muted facts" },
                `${match.length} · ${agoText(when, Date.now())}`,
                drawRulesButton(match.game, match.title),
            ),
            this.#share.draw(`?ply=${this.#shown ?? 0}`),
            h(
                "div",
                { class: "actions" },
                h("a", { class: "button", href: `/room/${match.room}` }, "The room"),
                drawFlip(() => this.#turnBoard()),
                drawSettingsButton(this.#app),
            ),
        );
    }

    #turnBoard() {
        this.#isTurned = !this.#isTurned;
        this.#app.update();
    }

    /** @param {number} ply */
    #showPly(ply) {
        if (!this.#match) return;
        const shown = Math.max(0, Math.min(this.#match.moves.length, ply));
        this.#shown = shown;
        if (this.#match.view !== null) this.#requestWords(this.#match, shown);
        history.replaceState(null, "", `/match/${this.#match.match}?ply=${shown}`);
        const played = this.#match.moves[shown - 1];
        const text = this.#views[shown]?.text ?? "";
        this.#app.announce(played ? `${numberedMove(played, shown - 1)}. ${text}` : `Start position. ${text}`);
    }
}

/** @returns {number | null} */
function plyInAddress() {
    const ply = new URLSearchParams(location.search).get("ply");
    return ply !== null && /^\d{1,6}$/.test(ply) ? Number(ply) : null;
}
