/**
 * The bar over every page about what waits for the user in another room. The app loads this module with
 * the first notification.
 *
 * @import {Content} from "./elements.js"
 * @import {Notification} from "./protocol.js"
 */

import { h } from "./elements.js";
import { icon } from "./icons.js";
import { loadStyleSheet } from "./style-sheets.js";

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
