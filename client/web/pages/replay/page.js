/**
 * The page that replays a match, with the AI's search for each of its moves and the analysis of the
 * match. The page's address contains the shown ply.
 *
 * @import {App, Page} from "../../shell/app.js"
 * @import {StoredMatch} from "../../shell/api.js"
 * @import {MoveView, PositionView} from "../../shell/protocol.js"
 * @import {Content} from "../../shell/elements.js"
 * @import {Player} from "../../ui/players.js"
 */

import { boardAspect, isFlipped, isWide, onUprightChange } from "../../board/geometry.js";
import { h } from "../../shell/elements.js";
import { keyOf } from "../../shell/keys.js";
import { loadStyleSheet } from "../../shell/style-sheets.js";
import { drawStepper, scrollToShown } from "../../ui/moves.js";
import { Share } from "../../ui/share.js";
import { openKeysHelp } from "../../ui/sheets.js";
import { drawTable, resultFor } from "../../ui/table.js";
import { drawPanel, drawTabs, onTabsChange, setWideBoard } from "../../ui/tabs.js";
import { numberedMove, playersOfSeat, sideName, versus } from "../../shell/words.js";
import { MatchAnalysis } from "./analysis.js";
import { ChanceView } from "./chances.js";
import { LoadedMatch } from "./loaded-match.js";
import { Navigation } from "./navigation.js";
import { drawFailure, drawInfo, drawMoveCard, drawPlayback, drawPrintHead, drawResult, drawSlider } from "./parts.js";
import { openDownload, openEmbed } from "./files.js";
import { drawReport } from "./report.js";
import { Searches } from "./searches.js";
import { drawLine, drawVerdict } from "./verdict.js";

/** One empty list for all scenes: a scene with another list would be drawn again. @type {MoveView[]} */
const NO_MOVES = [];
/** The keys of this page, besides those of every match, and what they do. @type {[string[], string][]} */
const KEYS = [
    [["Space"], "play the moves, or stop"],
    [["n"], "the next mistake"],
    [["p"], "the previous mistake"],
    [["b"], "show the best line"],
    [["Esc"], "from the line back to the match"],
];

/** @implements {Page} */
export class ReplayPage {
    #app;
    #loaded;
    #analysis;
    #navigation;
    #searches;
    #chances;
    #share;
    /** The clocks of the match; null before they arrive, and without any. @type {typeof import("./times.js") | null} */
    #times = null;
    /** @type {PositionView | null} */
    #drawnPosition = null;
    #isTurned = false;
    /** @type {string | null} */
    #failure = null;
    /** The ply to which the list of moves was last scrolled, and its height. */
    #scrolledTo = "";
    #selectedTab = "moves";
    /** Whether the position for a match against the AI is on its way from the server. */
    #isOpening = false;
    #stopListening;

    /**
     * @param {App} app
     * @param {string} id
     */
    constructor(app, id) {
        const update = () => app.update();
        this.#app = app;
        this.#loaded = new LoadedMatch(id, update);
        this.#analysis = new MatchAnalysis(id, update);
        this.#navigation = new Navigation(app, id, this.#loaded, this.#analysis);
        this.#searches = new Searches(app);
        this.#chances = new ChanceView(update);
        this.#share = new Share("Link to this position", `/match/${id}`, update, (text) => app.announce(text));
        const stops = [onTabsChange(update), onUprightChange(update)];
        this.#stopListening = () => stops.forEach((stop) => stop());
    }

    start() {
        void this.#share.load();
        void loadStyleSheet("pages/replay/print.css").catch(() => {});
        this.#failure = null;
        this.#loaded
            .load(this.#navigation.shown, (match) => this.#onMatch(match))
            .catch((error) => {
                this.#failure = error instanceof Error ? error.message : String(error);
                // A match that is shown already stays.
                if (this.#loaded.match) this.#app.toast(this.#failure);
                this.#app.update();
            });
    }

    /**
     * Shows the match, and reads its analysis; a link from the room asks for one.
     * @param {StoredMatch} match
     */
    #onMatch(match) {
        if (match.clock) void this.#loadTimes();
        this.#app.update();
        const asks = new URLSearchParams(location.search).has("analyse");
        if (asks) {
            this.#selectedTab = "analysis";
            this.#navigation.go(match.moves.length);
        }
        void this.#analysis.load().then(() => {
            if (asks && this.#analysis.latest?.state === "none") void this.#analysis.ask();
        });
    }

    async #loadTimes() {
        const sheets = [loadStyleSheet("ui/clock/clock.css"), loadStyleSheet("pages/replay/times.css")];
        const [times] = await Promise.all([import("./times.js"), ...sheets]).catch(() => [null]);
        if (times === null) return this.#app.missing();
        this.#times = times;
        this.#app.update();
    }

    onReconnect() {
        if (this.#failure !== null) this.start();
    }

    stop() {
        this.#stopListening();
        this.#searches.stop();
        this.#analysis.stop();
        this.#navigation.stop();
    }

    onModelChange() {}

    title() {
        const { match } = this.#loaded;
        return match ? `Replay – ${match.title}: ${versus(match.seats)} – Plyroom` : "Replay – Plyroom";
    }

    /** @param {KeyboardEvent} event */
    onKey(event) {
        const { match } = this.#loaded;
        if (!match) return;
        const isOnButton = event.target instanceof Element && event.target.closest("button, a, summary") !== null;
        const action = this.#actionOf(keyOf(event));
        if (!action || (event.key === " " && isOnButton)) return;
        action();
        event.preventDefault();
    }

    /**
     * What a key does; null for other keys.
     * @param {string} key
     * @returns {(() => void) | null}
     */
    #actionOf(key) {
        const navigation = this.#navigation;
        /** @type {Record<string, () => void>} */
        const actions = {
            "?": () => openKeysHelp(this.#app, KEYS),
            f: () => this.#turnBoard(),
            " ": () => navigation.togglePlayback(),
            n: () => navigation.goToMarked(1),
            p: () => navigation.goToMarked(-1),
            b: () => void navigation.showLine(),
        };
        return (Object.hasOwn(actions, key) ? actions[key] : navigation.actionOf(key)) ?? null;
    }

    afterDraw() {
        const list = document.querySelector(".moves");
        const shownKey = `${this.#navigation.shown} ${list?.clientHeight}`;
        if (!list || this.#scrolledTo === shownKey) return;
        this.#scrolledTo = shownKey;
        scrollToShown(list);
    }

    /** @returns {Content} */
    draw() {
        const { match } = this.#loaded;
        if (this.#failure !== null && !match) return drawFailure(this.#failure);
        if (!match) return h("p", { class: "loading", key: "loading" }, "Opening the match…");
        const { shown } = this.#navigation;
        const board = match.view?.board ?? null;
        setWideBoard(isWide(board));
        const thinking = this.#searches.draw(match, this.#loaded, this.#analysis, shown, this.#navigation.line.isOpen);
        const go = (/** @type {number} */ ply) => this.#navigation.go(ply);
        const playOn = match.view ? () => void this.#playOn(match, this.#navigation.position) : null;
        const players = match.seats.map((_, seat) => playersOfSeat(match, seat));
        const selected = thinking === null && this.#selectedTab === "thinking" ? "moves" : this.#selectedTab;
        return h(
            "div",
            { class: ["match-page replay", isWide(board) && "wide"], key: match.match, "--board-aspect": boardAspect(board) },
            h("h1", { class: "visually-hidden" }, `Replay of ${match.title}: ${players.join(" against ")}`),
            drawPrintHead(match),
            this.#drawTable(match, shown),
            h(
                "div",
                { class: "right" },
                this.#drawState(match, shown),
                this.#drawTabs(selected, thinking !== null),
                drawPanel("thinking", selected, thinking),
                drawPanel("moves", selected, drawMoveCard(match, { shown, go, analysis: this.#analysis, playOn, isOpening: this.#isOpening, download: () => openDownload(this.#app, match) })),
            ),
            h(
                "div",
                { class: "left" },
                drawPanel("room", selected, drawInfo(this.#app, match, { share: this.#share, shown, flip: () => this.#turnBoard(), embed: () => this.#embed(match, shown), clock: this.#times?.controlOf(match) ?? "" })),
                drawPanel("analysis", selected, this.#drawAnalysis(match, shown)),
            ),
        );
    }

    /**
     * @param {StoredMatch} match
     * @param {number} shown
     */
    #drawTable(match, shown) {
        this.#drawnPosition = this.#navigation.line.view ?? this.#loaded.view(shown) ?? this.#drawnPosition;
        const position = this.#drawnPosition;
        const side = sideOf(match, this.#app.model.you?.identity);
        const bottom = this.#isTurned ? 1 - side : side;
        const scene = match.view && {
            board: match.view,
            position,
            moves: NO_MOVES,
            pending: null,
            flip: isFlipped(match.view.board, side, this.#isTurned),
            label: `${match.title} board`,
            arrows: this.#searches.arrows,
        };
        const isAtEnd = shown === match.moves.length && !this.#navigation.line.isOpen;
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
            clock: this.#navigation.line.isOpen ? null : this.#times?.drawClock(match, shown, seat),
        }));
        const overlay = this.#navigation.line.isOpen ? null : this.#chances.drawBar(match, this.#loaded, this.#analysis, shown, bottom);
        return drawTable({ scene, players: /** @type {[Player, Player]} */ (players), bottom, overlay });
    }

    /**
     * @param {StoredMatch} match
     * @param {number} shown
     */
    #drawState(match, shown) {
        const { line, playback } = this.#navigation;
        const played = match.moves[shown - 1];
        const text = played ? numberedMove(played, shown - 1) : "Start position";
        const go = (/** @type {number} */ ply) => this.#navigation.go(ply);
        const [at, head] = line.isOpen ? [line.at, line.moves.length] : [shown, match.moves.length];
        const step = line.isOpen ? (/** @type {number} */ move) => line.show(move) : go;
        return h(
            "section",
            { class: ["card state", line.isOpen && "in-line"], "aria-label": "Replay" },
            line.isOpen
                ? h("p", { class: "status" }, "Best line", h("span", { class: "muted" }, ` in place of ${text}`))
                : h("p", { class: "status" }, text, played && match.moves.length > 2 ? h("span", { class: "muted" }, ` of ${match.length}`) : null),
            !line.isOpen && match.over && (shown === 0 || shown === match.moves.length) ? drawResult(match, match.over) : null,
            line.isOpen
                ? drawLine(line, () => line.close())
                : drawVerdict(this.#analysis.at(shown - 1), played, {
                      showLine: () => void this.#navigation.showLine(),
                      isOpening: line.isOpening,
                      playAgain: match.view ? () => void this.#playOn(match, { ply: shown - 1, moves: [] }, text) : null,
                  }),
            line.isOpen ? null : drawSlider({ shown, head: match.moves.length, text, go }),
            drawStepper({ shown: at, head, go: step }),
            line.isOpen ? null : drawPlayback(playback, () => this.#navigation.togglePlayback(), match.spent_ms !== undefined),
        );
    }

    /**
     * @param {string} selected
     * @param {boolean} hasThinking
     */
    #drawTabs(selected, hasThinking) {
        return drawTabs({
            label: "Parts of the replay",
            tabs: [
                { id: "moves", title: "Moves" },
                ...(hasThinking ? [{ id: "thinking", title: "Thinking" }] : []),
                { id: "analysis", title: "Analysis" },
                { id: "room", title: "Match" },
            ],
            selected,
            select: (id) => {
                this.#selectedTab = id;
                this.#app.update();
            },
        });
    }

    /**
     * @param {StoredMatch} match
     * @param {number} shown
     */
    #drawAnalysis(match, shown) {
        const go = (/** @type {number} */ ply) => this.#navigation.go(ply);
        const sides = [0, 1].map((seat) => sideName(match.view, seat));
        return h(
            "section",
            { class: "card analysis", "aria-label": "Analysis" },
            h("h2", null, "Analysis"),
            this.#chances.drawGraph(match, this.#loaded, this.#analysis, shown, go),
            this.#times?.drawTimeGraph(match, shown, go),
            drawReport(this.#analysis, { sides, go, shown }),
        );
    }

    /**
     * Starts a match against the AI from a position.
     * @param {StoredMatch} match
     * @param {{ply: number, moves: string[]}} position
     * @param {string} [instead] the move that the user wants to play differently
     */
    async #playOn(match, { ply, moves }, instead = "") {
        if (this.#isOpening) return;
        this.#navigation.playback.stop();
        this.#setOpening(true);
        const dialog = await import("./play-on.js").catch(() => null);
        const place = dialog && (await dialog.readPlace(this.#app, match, ply, moves));
        this.#setOpening(false);
        if (dialog === null) return this.#app.missing();
        if (place) await dialog.playOn(this.#app, match, place, instead);
    }

    /** @param {boolean} isOpening */
    #setOpening(isOpening) {
        this.#isOpening = isOpening;
        this.#app.update();
    }

    /**
     * @param {StoredMatch} match
     * @param {number} shown
     */
    #embed(match, shown) {
        openEmbed(this.#app, match, { origin: this.#share.origin, ply: shown, flip: this.#isTurned });
    }

    #turnBoard() {
        this.#isTurned = !this.#isTurned;
        this.#app.update();
    }
}

/**
 * The seat from whose side a match is shown: the viewer's own; the first one for all others, and for a
 * player of both sides.
 * @param {StoredMatch} match
 * @param {string | undefined} you
 */
function sideOf({ seats }, you) {
    const own = seats.flatMap(({ identity, kind }, seat) => (identity === you && kind !== "ai" ? [seat] : []));
    return own.length === 1 ? (own[0] ?? 0) : 0;
}
