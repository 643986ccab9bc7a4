import { drawChat } from "/client/web/pages/room/chat.js";
import { logLine } from "/client/web/pages/room/events.js";
import { nameMarks } from "/client/web/pages/room/names.js";
import { drawMatch } from "/client/web/ui/matches/matches.js";
import { drawPlayer } from "/client/web/ui/players.js";
import { h, render } from "/client/web/shell/elements.js";
import { drawHeader } from "/client/web/shell/frame.js";
import { isolated } from "/client/web/shell/isolation.js";
import { substitutionText } from "/client/web/pages/replay/parts.js";
import { occupantName, playersOfSeat, versus } from "/client/web/shell/words.js";
import { assert, assertEqual, test } from "./testing.js";

const [OMAR, DAVID] = ["\u0639\u0645\u0631", "\u05d3\u05d5\u05d3"];
const [FSI, PDI] = ["\u2068", "\u2069"];
const omar = { identity: "omar", name: OMAR };
const david = { identity: "david", name: DAVID };
const kept = { identity: "ai", name: "AI level 4", kind: "ai", level: 4, kept_for: omar };

/** Draws into the page; returns its element. */
function drawn(...content) {
    const parent = document.createElement("div");
    document.body.replaceChildren(parent);
    render(parent, ...content);
    return parent;
}

/** Whether every text from right to left stands in an element that isolates it, or in an attribute's isolate. */
function assertIsolated(parent) {
    const walker = document.createTreeWalker(parent, NodeFilter.SHOW_TEXT);
    let count = 0;
    while (walker.nextNode()) {
        const { data, parentElement } = walker.currentNode;
        if (!data.includes(OMAR) && !data.includes(DAVID)) continue;
        count++;
        assert(parentElement.closest("bdi, [dir=auto]") !== null, parentElement.outerHTML);
    }
    for (const element of parent.querySelectorAll("*"))
        for (const { name, value } of element.attributes)
            for (const person of [OMAR, DAVID])
                if (name !== "value") assertEqual(value.split(person).length, value.split(`${FSI}${person}${PDI}`).length);
    assert(count > 0, parent.innerHTML);
}

test("a text is isolated if it has letters from right to left, and h makes an element of it", () => {
    assertEqual(["Ann", "5", "王伟", "Оля", ""].map(isolated), ["Ann", "5", "王伟", "Оля", ""]);
    for (const text of [OMAR, `Ann ${DAVID}`, "\u07d2", "\ufe8e", "\u{1e900}"]) assertEqual(isolated(text), FSI + text + PDI);
    const text = `${isolated(OMAR)} against ${isolated(DAVID)}.`;
    assertEqual(drawn(h("p", { title: text }, text)).innerHTML, `<p title="${text}"><bdi>${OMAR}</bdi> against <bdi>${DAVID}</bdi>.</p>`);
    assertEqual(drawn(text).innerHTML, `<bdi>${OMAR}</bdi> against <bdi>${DAVID}</bdi>.`);
    assertEqual(drawn(h("option", null, isolated(OMAR))).textContent, isolated(OMAR));
});

test("names stay isolated in sentences and titles", () => {
    const texts = [
        occupantName(omar),
        occupantName(kept),
        versus([omar, david]),
        playersOfSeat({ seats: [omar, david], over: null }, 1),
        substitutionText({ ply: 0, occupant: kept }, []),
        substitutionText({ ply: 0, occupant: omar }, []),
    ];
    const room = { seats: [omar, kept], offers: [0], takebacks: [], description: { view: null }, match: { moves: [] } };
    for (const event of [
        { kind: "seat_taken", seat: 0, occupant: omar }, { kind: "seat_left", seat: 0 }, { kind: "started", number: 2 },
        { kind: "offered", seat: 0, what: "draw" }, { kind: "declined", seat: 0 }, { kind: "took_back", seat: 0, to_ply: 0 },
        { kind: "ai_took_over", seat: 1, occupant: kept }, { kind: "ai_took_over", seat: 0, occupant: { name: "AI" } },
        { kind: "player_returned", seat: 0, occupant: omar }, { kind: "muted", name: OMAR }, { kind: "unmuted", name: OMAR },
        { kind: "renamed", identity: "omar", name: DAVID }, { kind: "finished", how: "agreement" },
    ])
        texts.push(logLine(event, room, null));
    for (const text of texts) {
        assert(text.includes(OMAR) || text.includes(DAVID), text);
        for (const name of [OMAR, DAVID]) assertEqual(text.split(name).length, text.split(`${FSI}${name}${PDI}`).length);
        assertIsolated(drawn(h("p", null, text)));
    }
});

test("names and lines of chat stand in elements of their own direction", () => {
    const player = { seat: 0, board: null, online: true, pieces: null, toMove: false, thinking: false, you: false, result: null };
    assertIsolated(drawn(drawPlayer({ ...player, occupant: omar, mark: " (2)" }), drawPlayer({ ...player, occupant: kept })));
    assertIsolated(drawn(drawMatch({ match: "m", title: "Chess", seats: [omar, david], over: null, length: "", started_ms: 0 }, 0)));
    const header = { name: OMAR, path: "/", status: { state: "open", lag_ms: 1 }, rename: null, renameError: null };
    assertIsolated(drawn(drawHeader({ ...header, clearRenameError() {}, startRename() {}, cancelRename() {}, redraw() {} })));
    const chat = [
        { v: 1, identity: "omar", name: OMAR, text: `${DAVID} 1 - 0`, to: "room", by: "" },
        { v: 2, identity: "ann", name: "Ann", text: "hi", to: "room", by: "" },
        { v: 3, identity: "david", name: DAVID, text: "x", to: "room", by: "" },
    ];
    const isMuted = (/** @type {string} */ identity) => identity === "david";
    const area = drawn(
        drawChat({
            room: { seats: [], chat, answers: [], muted: [] }, extras: null, log: [{ v: 4, key: "4", text: `${isolated(OMAR)} left` }],
            error: null, clearError() {}, send: async () => true, isSpectator: false, onScroll() {}, me: "ann",
            marks: new Map([["omar", " (2)"]]), muted: { has: isMuted }, redraw() {},
        }),
    );
    assertIsolated(area);
    assertEqual([...area.querySelectorAll("b bdi")].map(({ textContent }) => textContent), [OMAR, "Ann"]);
    assertEqual([...area.querySelectorAll(".said")].map(({ dir }) => dir), ["auto", "auto"]);
    assertEqual(area.querySelector("input").dir, "auto");
});

test("names that differ in nothing visible are numbered", () => {
    const pairs = [["Zo\u00eb", "ZOE\u0308"], ["\u0645\u06cc\u200c\u062e", "\u0645\u06cc\u062e"], ["\u2764\ufe0f", "\u2764"]];
    for (const [first, second] of pairs) {
        const seats = [{ identity: "1", name: first }, { identity: "2", name: second }];
        assertEqual([...nameMarks({ seats, chat: [] })], [["1", ""], ["2", " (2)"]]);
    }
});

test("fields take as many characters as the server counts, of any plane", () => {
    const header = { name: "Ann", path: "/", status: { state: "open", lag_ms: 1 }, renameError: null, clearRenameError() {} };
    const chat = { room: { seats: [], chat: [], answers: [], muted: [] }, extras: null, log: [], error: null, marks: new Map() };
    const fields = [
        [drawHeader({ ...header, rename() {}, startRename() {}, cancelRename() {}, redraw() {} }), 24],
        [drawChat({ ...chat, clearError() {}, send: async () => true, isSpectator: false, onScroll() {}, me: "", muted: { has: () => false }, redraw() {} }), 400],
    ];
    for (const [content, limit] of fields) {
        const field = drawn(content).querySelector("input");
        assert(field.maxLength < 0, "a maxlength counts two for an emoji");
        const type = (/** @type {string} */ text) => {
            field.value = text;
            field.dispatchEvent(new InputEvent("input"));
            return field.value;
        };
        for (const one of ["a", "\u{1f984}", "\u738b"]) {
            assertEqual(type(one.repeat(limit)), one.repeat(limit));
            assertEqual(type(one.repeat(limit + 1)), one.repeat(limit));
        }
        assertEqual(type("e\u0301".repeat(limit)), "\u00e9".repeat(limit));
    }
});
