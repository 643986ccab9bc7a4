/**
 * Parts of a room's page: the refusal, the room's description, and a ply in words.
 *
 * @import {App} from "../../shell/app.js"
 * @import {Room} from "../../shell/model.js"
 * @import {Content, VNode} from "../../shell/elements.js"
 */

import { h } from "../../shell/elements.js";
import { icon } from "../../shell/icons.js";
import { seatOf } from "../../ui/moves.js";
import { drawRulesButton, drawSettingsButton } from "../../ui/sheets.js";
import { moveText, numberedMove, optionsText, plural, sentenceOf, sideName } from "../../shell/words.js";

/**
 * The page for a room that cannot be opened, with the server's reason.
 * @param {string} message
 * @returns {VNode}
 */
export function drawRefusal(message) {
    return h(
        "div",
        { class: "notice card" },
        h("h1", null, "This room cannot be opened"),
        h("p", null, sentenceOf(message)),
        h("p", null, h("a", { href: "/" }, "Back to the lobby")),
    );
}

/**
 * The status of the match; a result has an icon, so that its look differs by more than colour.
 * @param {string} text
 * @param {"won" | "lost" | "drawn" | null} result
 * @returns {VNode}
 */
export function drawStatus(text, result) {
    return h("p", { class: "status" }, result ? h("span", { class: "result-icon" }, icon(result)) : null, h("span", null, text));
}

/**
 * The game, the room, and the number of spectators.
 * @param {Room} room
 * @param {VNode} share
 * @param {App} app
 * @param {string} clock the time control in words, "" without one
 * @param {Content} matches the button that opens the list of the room's matches
 * @returns {Content}
 */
export function drawInfo({ description, presence, match }, share, app, clock, matches) {
    if (!description) return null;
    const options = optionsText(description);
    const watching = presence?.watching ?? 0;
    const visibility = description.visibility === "public" ? "Public room" : "Unlisted room";
    return h(
        "section",
        { class: "card info", "aria-label": "Room" },
        h(
            "h2",
            null,
            description.title,
            options ? h("span", { class: "muted" }, options) : null,
            drawWatching(watching),
        ),
        description.goal ? h("p", { class: "goal" }, description.goal) : null,
        h(
            "p",
            { class: "muted facts" },
            [visibility, match && `match ${match.number}`, clock].filter(Boolean).join(", "),
            drawRulesButton(app, description.game, description.title),
            matches,
        ),
        h("div", { class: "share-and-settings" }, share, drawSettingsButton(app)),
    );
}

/** @param {number} count */
function drawWatching(count) {
    const text = plural(count, "spectator");
    return h(
        "span",
        { class: "watching muted", title: text },
        icon("eye"),
        count,
        h("span", { class: "visually-hidden" }, ` ${text}`),
    );
}

/**
 * A ply in one line: the side, its move, and the position after it.
 * @param {Room} room
 * @param {number} ply
 * @param {string} [status] what is said after it, and so is not said here
 */
export function describePly(room, ply, status = "") {
    const played = room.match?.moves[ply - 1];
    if (ply < 1 || !played) return "Start position.";
    const mover = room.views[ply - 1]?.turn ?? seatOf(room.match?.moves ?? [], ply - 1);
    const text = room.views[ply]?.text;
    return `${sideName(room.description?.view, mover)} played ${numberedMove(played, ply - 1)}.${text && !status.includes(text) ? ` ${text}.` : ""}`;
}

/**
 * The past position that the board shows, by the move that led to it.
 * @param {Room} room
 * @param {number} ply
 */
export function pastText({ match }, ply) {
    const played = match?.moves[ply - 1];
    return played ? `After ${moveText(played)}` : "Start";
}
