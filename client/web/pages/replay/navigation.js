/**
 * The position on the board of a replay: a ply of the match, or a move of a better line; and the
 * controls that lead from one to another.
 *
 * @import {App} from "../../shell/app.js"
 * @import {MatchAnalysis} from "./analysis.js"
 * @import {LoadedMatch} from "./loaded-match.js"
 */

import { plyForKey } from "../../ui/moves.js";
import { numberedMove } from "../../shell/words.js";
import { nextMarked } from "./analysis.js";
import { Playback } from "./playback.js";
import { Variation } from "./variation.js";

export class Navigation {
    #app;
    #loaded;
    #analysis;
    #shown;

    /**
     * @param {App} app
     * @param {string} id of the match
     * @param {LoadedMatch} loaded
     * @param {MatchAnalysis} analysis
     */
    constructor(app, id, loaded, analysis) {
        this.#app = app;
        this.#loaded = loaded;
        this.#analysis = analysis;
        this.#shown = plyIn(location.search);
        this.line = new Variation(id, () => app.update());
        this.playback = new Playback(
            () => this.#playStep(),
            () => app.update(),
        );
    }

    /** The ply on the board; while a line is open, the ply at which it begins. */
    get shown() {
        return Math.min(this.#shown, this.#loaded.match?.moves.length ?? this.#shown);
    }

    /**
     * The position on the board: a ply, and the tokens of the moves after it.
     * @returns {{ply: number, moves: string[]}}
     */
    get position() {
        return this.line.isOpen ? { ply: this.line.ply, moves: this.line.played } : { ply: this.shown, moves: [] };
    }

    stop() {
        this.playback.stop();
        this.line.close();
    }

    /**
     * Shows a ply of the match, without the line and the playback.
     * @param {number} ply
     */
    go(ply) {
        this.stop();
        this.#show(ply);
    }

    /**
     * Goes to the next marked move, or to the previous one.
     * @param {1 | -1} direction
     */
    goToMarked(direction) {
        const ply = nextMarked(this.#analysis.latest?.moves ?? [], this.shown, direction);
        if (ply === null) this.#app.announce("There is no further mistake.");
        else this.go(ply);
    }

    /**
     * The action of a key; null for other keys.
     * @param {string} key
     * @returns {(() => void) | null}
     */
    actionOf(key) {
        const { line } = this;
        if (line.isOpen && key === "Escape") return () => line.close();
        const ply = line.isOpen
            ? plyForKey(key, line.at, line.moves.length)
            : plyForKey(key, this.shown, this.#loaded.match?.moves.length ?? 0);
        return ply === null ? null : () => (line.isOpen ? line.show(ply) : this.go(ply));
    }

    /** Plays the moves from the shown ply, or from the start if it is the last one; or stops. */
    togglePlayback() {
        const { match } = this.#loaded;
        if (!match) return;
        if (this.playback.isPlaying) return this.playback.stop();
        this.line.close();
        if (this.shown === match.moves.length) this.#show(0);
        this.playback.start(match.spent_ms?.[this.shown] ?? 0);
    }

    /** Shows the better line in place of the move that led to the shown ply. */
    async showLine() {
        const entry = this.#analysis.at(this.shown - 1);
        if (!entry?.pv?.length || entry.loss === undefined) return this.#app.announce("There is no better line here.");
        this.playback.stop();
        try {
            await this.line.open(entry.ply, entry.pv);
            this.#app.announce(`Best line: ${entry.line ?? entry.text}`);
        } catch (error) {
            this.#app.toast(error instanceof Error ? error.message : String(error));
        }
    }

    /** Shows the next ply; returns the time that the move after it took, null at the end. */
    #playStep() {
        const { match } = this.#loaded;
        if (!match) return null;
        this.#show(this.shown + 1);
        return this.shown < match.moves.length ? (match.spent_ms?.[this.shown] ?? 0) : null;
    }

    /** @param {number} ply */
    #show(ply) {
        const { match } = this.#loaded;
        if (!match) return;
        const shown = Math.max(0, Math.min(match.moves.length, ply));
        this.#shown = shown;
        this.#loaded.requestAssessments(shown);
        history.replaceState(null, "", `/match/${match.match}?ply=${shown}`);
        const played = match.moves[shown - 1];
        const { mark } = this.#analysis.at(shown - 1) ?? {};
        const text = [mark ? `${mark}.` : "", this.#loaded.view(shown)?.text ?? ""].filter(Boolean).join(" ");
        this.#app.announce(played ? `${numberedMove(played, shown - 1)}. ${text}` : `Start position. ${text}`);
    }
}

/**
 * The ply in an address, as in `?ply=12`, or `?ply=12).` where a text goes on behind it; 0 without one.
 * @param {string} search of the address
 */
export function plyIn(search) {
    const ply = new URLSearchParams(search).get("ply") ?? "";
    return Number(/^(\d{1,6})\W*$/.exec(ply)?.[1] ?? 0);
}
