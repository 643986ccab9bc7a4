/**
 * Icons for buttons: line drawings of 16 by 16 units in the colour of the text.
 *
 * @import {VNode} from "./elements.js"
 */

import { h } from "./elements.js";

const PATHS = {
    first: "M4 3.5v9M12.5 3.5 7 8l5.5 4.5z",
    back: "M10.5 3.5 5 8l5.5 4.5z",
    forward: "M5.5 3.5 11 8l-5.5 4.5z",
    last: "M12 3.5v9M3.5 3.5 9 8l-5.5 4.5z",
    flip: "M5 13V3.5M2.5 6 5 3.3 7.5 6M11 3v9.5M8.5 10 11 12.7 13.5 10",
    flag: "M4 14V2.5c3-1.5 5 1.5 8.5 0v6.5c-3.5 1.5-5.5-1.5-8.5 0",
    cross: "M4 4l8 8M12 4l-8 8",
    again: "M13 8a5 5 0 1 1-1.6-3.7M13 2.5v3h-3",
    undo: "M4.5 3 2 5.5 4.5 8M2.5 5.5h6a4 4 0 0 1 0 8H5",
    copy: "M6 6V3.2h7v7h-2.8M3 6h7v7H3z",
    link: "M7 9.5a3 3 0 0 0 4.3.2l1.9-1.9a3 3 0 0 0-4.2-4.2L8 4.6M9 6.5a3 3 0 0 0-4.3-.2L2.8 8.2A3 3 0 0 0 7 12.4l1-1",
    eye: "M1.5 8C4 3.8 12 3.8 14.5 8 12 12.2 4 12.2 1.5 8zM8 6a2 2 0 1 1 0 4 2 2 0 0 1 0-4z",
    theme: "M8 2.5a5.5 5.5 0 1 0 0 11zM8 2.5a5.5 5.5 0 0 1 0 11z",
    check: "M3 8.5 6.5 12 13 4.5",
    person: "M8 8.2a2.7 2.7 0 1 0 0-5.4 2.7 2.7 0 0 0 0 5.4zM2.8 13.8c.6-3 2.6-4.2 5.2-4.2s4.6 1.2 5.2 4.2",
    send: "M2.5 8 13.5 3l-3 10-3-4z",
    stand: "M9 3H3v10h6M6.5 8H14M11.5 5.5 14 8l-2.5 2.5",
    draw: "M3 6h10M3 10h10",
    book: "M8 4C6 2.8 4 2.8 2.5 3.3v9C4 11.8 6 11.8 8 13c2-1.2 4-1.2 5.5-.7v-9C12 2.8 10 2.8 8 4zM8 4v9",
    bulb: "M6 11.5h4M6.5 13.8h3M6 11.5c0-1.6-2-2.4-2-4.8a4 4 0 0 1 8 0c0 2.4-2 3.2-2 4.8",
    plus: "M8 3v10M3 8h10",
    bell: "M3.5 11.5h9L11.3 10V7a3.3 3.3 0 0 0-6.6 0v3zM6.8 13.5a1.3 1.3 0 0 0 2.4 0",
    "bell-off": "M3.5 11.5h9L11.3 10V7a3.3 3.3 0 0 0-6.6 0v3zM6.8 13.5a1.3 1.3 0 0 0 2.4 0M2.5 2.5l11 11.5",
    gear: "M2 5h12M2 11h12M10.5 3v4M5.5 9v4",
    won: "M4.5 2.5h7v3.2a3.5 3.5 0 0 1-7 0zM4.5 3.5H2.6c0 2.4.8 3.4 2.3 3.6M11.5 3.5h1.9c0 2.4-.8 3.4-2.3 3.6M8 9.3v2.4M5.3 13.5c0-1.2 1-1.8 2.7-1.8s2.7.6 2.7 1.8z",
    lost: "M8 2.2a5.8 5.8 0 1 1 0 11.6 5.8 5.8 0 0 1 0-11.6zM5.9 6.3v.6M10.1 6.3v.6M5.6 11c1.2-1.6 3.6-1.6 4.8 0",
    drawn: "M8 2.2a5.8 5.8 0 1 1 0 11.6 5.8 5.8 0 0 1 0-11.6zM5.3 6.8h5.4M5.3 9.4h5.4",
};

/**
 * @param {keyof typeof PATHS} name
 * @returns {VNode}
 */
export function icon(name) {
    return h(
        "svg",
        { class: `icon ${name}`, viewBox: "0 0 16 16", "aria-hidden": "true" },
        h("path", { d: PATHS[name] }),
    );
}
