/** Starts the app with its pages. */

import { PAGES, ROOM_PATH } from "./pages.js";
import { App } from "./shell/app.js";

// What a room needs after the socket's first answers: it should not share the line with the shell.
for (const link of document.querySelectorAll("link[data-rel]"))
    link.setAttribute("rel", link.getAttribute("data-rel") ?? "");

const root = document.getElementById("app");
if (root) {
    root.replaceChildren();
    new App(root, PAGES, ROOM_PATH).start();
}
