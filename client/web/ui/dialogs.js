/**
 * Modal dialogs. The browser keeps the focus in an open dialog, closes it with Escape, and returns
 * the focus to the element that had it before.
 *
 * @import {Content} from "../shell/elements.js"
 */

import { h, render } from "../shell/elements.js";

/** The class of the dialogs that ask a question. */
const CONFIRM = "confirm";

/** The number of dialogs opened so far, for their ids. */
let count = 0;

/**
 * Opens a dialog with a heading and a form whose buttons close it. Resolves with the value of the
 * pressed button when the dialog is closed; "" stands for Escape, for a click beside the dialog, and for
 * a dialog of this title that is open already: the user has pressed again while its module was on its way.
 * @param {{title: string, name: string, content: Content, buttons: Content}} dialog `name` is its
 *     class
 * @returns {Promise<string>}
 */
export function openDialog({ title, name, content, buttons }) {
    for (const each of document.querySelectorAll("dialog")) if (each.open && each.dataset.title === title) return Promise.resolve("");
    const dialog = document.createElement("dialog");
    const id = `dialog-${count++}`;
    dialog.className = `window ${name}`;
    dialog.dataset.title = title;
    dialog.setAttribute("aria-labelledby", id);
    render(
        dialog,
        h("h2", { id }, title),
        h("div", { class: "content" }, content),
        h("form", { method: "dialog", class: "buttons" }, buttons),
    );
    document.body.append(dialog);
    dialog.addEventListener("click", (event) => event.target === dialog && dialog.close());
    dialog.showModal();
    return new Promise((resolve) =>
        dialog.addEventListener("close", () => {
            dialog.remove();
            resolve(dialog.returnValue);
        }),
    );
}

/**
 * Asks whether to do something that cannot be undone. Resolves with whether the user confirmed it.
 * @param {{title: string, text: string, yes: string, no: string}} question
 */
export async function askToConfirm({ title, text, yes, no }) {
    const buttons = [
        h("button", { value: "yes", class: "danger" }, yes),
        h("button", { value: "", autofocus: true }, no),
    ];
    const answer = await openDialog({ title, name: CONFIRM, content: h("p", null, text), buttons });
    return answer === "yes";
}

/** Closes an open question, which is then not confirmed. */
export function closeQuestions() {
    for (const dialog of document.querySelectorAll(`dialog.${CONFIRM}`)) if (dialog instanceof HTMLDialogElement) dialog.close("");
}
