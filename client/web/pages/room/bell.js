/**
 * The bell: it turns sounds on and off, together with the browser's notice when it is the user's
 * turn and the page is hidden. Only the bell asks for the permission to show notices.
 *
 * @import {VNode} from "../../shell/elements.js"
 * @import {Sound} from "./sounds.js"
 */

import { h } from "../../shell/elements.js";
import { icon } from "../../shell/icons.js";
import { changeSetting, setting } from "../../shell/settings.js";

/**
 * @param {() => void} redraw
 * @returns {VNode}
 */
export function drawBell(redraw) {
    const isOn = setting("sound") === "on";
    const toggle = () => {
        changeSetting("sound", isOn ? "off" : "on");
        if (!isOn) {
            playSound("turn");
            askForNotices();
        }
        redraw();
    };
    const attributes = {
        key: "bell",
        class: "icon-button small bell",
        "aria-label": "Sounds and notices",
        "aria-pressed": isOn,
        title: isOn ? "Sounds on" : "Sounds off",
        onclick: toggle,
    };
    return h("button", attributes, icon(isOn ? "bell" : "bell-off"));
}

/**
 * Plays a sound if the bell is on. The page loads the module of sounds with the first one.
 * @param {Sound} sound
 */
export function playSound(sound) {
    if (setting("sound") === "on") void import("./sounds.js").then((sounds) => sounds.playSound(sound)).catch(() => {});
}

function askForNotices() {
    if ("Notification" in window && Notification.permission === "default") void Notification.requestPermission();
}
