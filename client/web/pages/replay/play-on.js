/**
 * The dialog that starts a match against the AI from a position of a stored match.
 *
 * @import {App} from "../../shell/app.js"
 * @import {GameDescription, StoredMatch} from "../../shell/api.js"
 * @import {Create} from "../../shell/protocol.js"
 */

import { ApiError, NetworkError, listGames } from "../../shell/api.js";
import { h } from "../../shell/elements.js";
import { aiFields, sentenceOf, sideName, strategyChoice } from "../../shell/words.js";
import { openDialog } from "../../ui/dialogs.js";
import { readVariation } from "./variation.js";

/** A position from which a match can start. @typedef {{game: GameDescription, start: string, turn: number}} Place */

/**
 * Reads the position after a line of moves; without one it says why, and resolves with null.
 * @param {App} app
 * @param {StoredMatch} match
 * @param {number} ply
 * @param {string[]} moves the tokens of a line that begins at the ply
 * @returns {Promise<Place | null>}
 */
export async function readPlace(app, match, ply, moves) {
    const refuse = (/** @type {string} */ text) => (app.toast(text), null);
    try {
        const [line, games] = await Promise.all([readVariation(match.match, ply, moves), listGames()]);
        const game = games.find(({ id }) => id === match.game);
        if (line.withheld) return refuse(sentenceOf(line.withheld));
        if (line.over !== null) return refuse(`The match is over in this position: ${line.over}.`);
        if (!game) return refuse("This server no longer has the rules of this match.");
        return { game, start: line.start, turn: line.views.at(-1)?.turn ?? 0 };
    } catch (error) {
        if (!(error instanceof ApiError || error instanceof NetworkError)) throw error;
        return refuse(sentenceOf(error.message));
    }
}

/**
 * Asks for the level and the side, creates a room whose matches start from the position, and opens it.
 * @param {App} app
 * @param {StoredMatch} match
 * @param {Place} place
 * @param {string} instead the move before which the match starts; "" if it goes on from the board
 */
export async function playOn(app, match, { game, start, turn }, instead) {
    const choice = await ask(game, turn, sideFor(app, match, turn, instead), levelOf(match), instead);
    if (choice === null) return;
    const ai = /** @type {const} */ ({ who: "ai", ...aiFields(choice.level) });
    const me = /** @type {const} */ ({ who: "me" });
    /** @type {Omit<Create, "id">} */
    const command = {
        t: "create",
        game: match.game,
        options: match.options,
        visibility: "unlisted",
        start,
        seats: choice.seat === 0 ? [me, ai] : [ai, me],
    };
    const ack = await app.command(command);
    if (ack?.room) app.navigate(`/room/${ack.room}`);
}

/**
 * The seat that is chosen at first: that of the move to be played differently; on the way on the
 * viewer's own, and for all others that to move.
 * @param {App} app
 * @param {StoredMatch} match
 * @param {number} turn
 * @param {string} instead
 */
function sideFor({ model }, { seats }, turn, instead) {
    const own = seats.flatMap(({ identity, kind }, seat) => (identity === model.you?.identity && kind !== "ai" ? [seat] : []));
    return instead === "" && own.length === 1 ? (own[0] ?? turn) : turn;
}

/**
 * The level of an AI of the match, or null.
 * @param {StoredMatch} match
 */
function levelOf({ seats }) {
    return seats.find(({ kind, level }) => kind === "ai" && level)?.level ?? null;
}

/**
 * Asks for the seat and the level. Resolves with null when the user cancels.
 * @param {GameDescription} game
 * @param {number} turn the seat to move
 * @param {number} mine the seat that is chosen at first
 * @param {number | null} level the level that is chosen at first
 * @param {string} instead
 * @returns {Promise<{seat: number, level: string} | null>}
 */
async function ask(game, turn, mine, level, instead) {
    const noLevels = game.levels === 0;
    const choice = {
        seat: mine,
        level: noLevels ? strategyChoice("alphabeta") : String(Math.min(game.levels, level ?? Math.ceil(game.levels / 2))),
    };
    const onSeat = (/** @type {number} */ seat) => () => (choice.seat = seat);
    const onLevel = (/** @type {Event} */ { currentTarget }) => {
        if (currentTarget instanceof HTMLSelectElement) choice.level = currentTarget.value;
    };
    const content = h(
        "div",
        { class: "play-on-choices" },
        h(
            "fieldset",
            null,
            h("legend", null, "You play"),
            [turn, 1 - turn].map((seat) =>
                h(
                    "label",
                    null,
                    h("input", { type: "radio", name: "play-on-seat", ".checked": seat === mine, onchange: onSeat(seat) }),
                    ` ${sideName(game.view, seat)}`,
                    seat === turn ? h("span", { class: "muted" }, " (to move)") : null,
                ),
            ),
        ),
        noLevels
            ? null
            : h(
                  "label",
                  null,
                  "Level of the AI ",
                  h(
                      "select",
                      { ".value": choice.level, onchange: onLevel },
                      Array.from({ length: game.levels }, (_, i) => h("option", { value: i + 1 }, `${i + 1} ${game.level_names?.[i] ?? ""}`)),
                  ),
              ),
        instead ? h("p", null, "The match starts from the position before this move.") : null,
        h("p", { class: "muted" }, "The room is unlisted: only people with its link can find it."),
    );
    const answer = await openDialog({
        title: instead ? `Play ${instead} differently` : "Play on from here",
        name: "play-on",
        content,
        buttons: [h("button", { value: "" }, "Cancel"), h("button", { value: "play", class: "main", autofocus: true }, "Play")],
    });
    return answer === "play" ? choice : null;
}
