import { RoomTabs } from "/client/web/pages/room/tabs.js";
import { drawPanel, drawTabs, tabForKey } from "/client/web/ui/tabs.js";
import { h, render } from "/client/web/shell/elements.js";
import { assertEqual, test } from "./testing.js";

const TABS = [{ id: "moves", title: "Moves" }, { id: "chat", title: "Chat", hasNews: true }, { id: "room", title: "Room" }];

test("the arrow keys, Home and End lead round the tabs", () => {
    const keys = ["ArrowLeft", "ArrowRight", "Home", "End", "a"];
    assertEqual(keys.map((key) => tabForKey(TABS, "moves", key)), ["room", "chat", "moves", "room", null]);
    assertEqual(tabForKey(TABS, "room", "ArrowRight"), "moves");
});

test("one tab is selected and focusable, its panel is visible, and news have a text", () => {
    const parent = document.createElement("div");
    document.body.replaceChildren(parent);
    let selected = "moves";
    const draw = () =>
        render(
            parent,
            drawTabs({ label: "Parts", tabs: TABS, selected, select: (id) => ((selected = id), draw()) }),
            TABS.map(({ id }) => drawPanel(id, selected, h("p", null, id))),
        );
    draw();
    const tabs = () => [...parent.querySelectorAll("[role=tab]")];
    const state = () => tabs().map((tab) => [tab.textContent, tab.ariaSelected, tab.tabIndex]);
    assertEqual(state(), [
        ["Moves", "true", 0],
        ["Chat (new)", "false", -1],
        ["Room", "false", -1],
    ]);
    tabs()[0].focus();
    tabs()[0].dispatchEvent(new KeyboardEvent("keydown", { key: "End", bubbles: true, cancelable: true }));
    assertEqual([selected, document.activeElement.id], ["room", "tab-room"]);
    assertEqual([...parent.querySelectorAll("[role=tabpanel]:not([hidden])")].map(({ id }) => id), ["panel-room"]);
});

test("a comment of the coach is news in the chat until it is seen, and a hint of the button is not", () => {
    const room = { v: 4, chat: [{ v: 3, text: "hello" }], answers: [] };
    const app = { model: { room }, update: () => {} };
    const tabs = new RoomTabs(app);
    const parent = document.createElement("div");
    document.body.replaceChildren(parent);
    const titleAfter = (answers) => {
        app.model = { room: { ...room, answers } };
        render(parent, tabs.draw(false));
        tabs.afterDraw();
        return parent.querySelector("#tab-chat").textContent;
    };
    const [hint, comment] = [{ about: "hint" }, { about: "coach" }];
    assertEqual([titleAfter([]), titleAfter([hint]), titleAfter([hint, comment])], ["Chat", "Chat", "Chat (new)"]);
    parent.querySelector("#tab-chat").click();
    assertEqual([titleAfter([hint, comment]), titleAfter([hint, comment])], ["Chat (new)", "Chat"]);
    tabs.stop();
});
