/**
 * What waits for the user in another room, and the bar about it over every page. The app loads this
 * module with the first notification.
 *
 * @import {MyMatches} from "./api.js"
 * @import {Content} from "./elements.js"
 * @import {Model} from "./model.js"
 * @import {Notification} from "./protocol.js"
 */

import { h } from "./elements.js";
import { icon } from "./icons.js";
import { loadStyleSheet } from "./style-sheets.js";

/** What the server tells about a running match, and no answer of `listMyMatches` has. */
const ONLY_TOLD = ["started", "draw", "takeback"];

/** The bar's style, without which it is not shown. */
export const styled = loadStyleSheet("shell/waiting.css");

/**
 * What waits for the user in another room, the latest first: one tap enters it.
 * @param {Notification[]} waiting
 * @param {(room: string) => void} close
 * @returns {Content}
 */
export function drawWaiting([latest, ...others], close) {
    if (!latest) return null;
    const { room, text } = latest;
    return h(
        "aside",
        { class: "waiting", key: "waiting", "aria-label": "Waits for you" },
        h("a", { class: "go", href: `/room/${room}` }, h("span", null, text), h("b", null, "Go")),
        others.length > 0 ? h("a", { href: "/" }, `and ${others.length} more`) : null,
        h("button", { class: "icon-button", "aria-label": "Close", onclick: () => close(room) }, icon("cross")),
    );
}

/**
 * The model with what waits by an answer of `listMyMatches`, which does not say what is the latest. What
 * the server has told since the request is newer than the answer. What no answer has stays as long as
 * the answer does not contradict it: news of a running match, and the end of one.
 * @param {Model} model
 * @param {Model} before the model when the request was sent
 * @param {MyMatches} answer
 * @returns {Model} the same model if nothing has changed
 */
export function withWaiting(model, before, { running, notifications = [] }) {
    const isNewer = (/** @type {Notification} */ { room }) => model.told[room] !== before.told[room];
    const known = model.waiting.flatMap((each) => {
        const now = notifications.find(({ room }) => room === each.room);
        const isRunning = running.some(({ room }) => room === each.room);
        const stays = each.what === "over" ? !now && !isRunning : isRunning && ONLY_TOLD.includes(each.what ?? "");
        return isNewer(each) || stays || now?.text === each.text ? each : (now ?? []);
    });
    const knownRooms = [model.room?.id, ...model.waiting.map(({ room }) => room)];
    const others = notifications.filter((each) => !isNewer(each) && !knownRooms.includes(each.room));
    const waiting = [...known, ...others];
    const isSame = waiting.length === model.waiting.length && waiting.every((each, i) => each === model.waiting[i]);
    return isSame ? model : { ...model, waiting };
}
