import { Controls } from "/client/web/glass/viewer/controls.js";
import { keyOf } from "/client/web/shell/keys.js";
import { assertEqual, test } from "./testing.js";

/** What a keyboard layout types with a key, the key, and the shortcut that is meant. */
const LAYOUTS = [
    ["English", "f", "KeyF", "f"],
    ["caps lock", "F", "KeyF", "f"],
    ["French", "a", "KeyQ", "a"],
    ["Dvorak", "n", "KeyL", "n"],
    ["Dvorak", "'", "KeyQ", "'"],
    ["Russian", "а", "KeyF", "f"],
    ["Russian, caps lock", "А", "KeyF", "f"],
    ["Ukrainian", "т", "KeyN", "n"],
    ["Greek", "φ", "KeyF", "f"],
    ["Hebrew", "כ", "KeyF", "f"],
    ["Hebrew", "/", "KeyQ", "/"],
    ["Arabic", "ى", "KeyN", "n"],
    ["Arabic", "لا", "KeyB", "b"],
    ["Persian", "ب", "KeyF", "f"],
    ["Hindi", "ि", "KeyF", "f"],
    ["Thai", "ด", "KeyF", "f"],
    ["Korean", "ㄹ", "KeyF", "f"],
    ["Georgian", "ფ", "KeyF", "f"],
    ["Turkish", "ı", "KeyI", "i"],
    ["input method", "Process", "KeyF", "f"],
    ["unknown", "Unidentified", "KeyP", "p"],
    ["telephone", "f", "", "f"],
    ["telephone", "Unidentified", "", "Unidentified"],
    ["Russian", "ж", "Semicolon", "ж"],
    ["Russian", "?", "Digit7", "?"],
    ["any", "ArrowLeft", "ArrowLeft", "ArrowLeft"],
    ["any", "Enter", "Enter", "Enter"],
    ["any", " ", "Space", " "],
];

test("a letter key is the same shortcut on any layout", () => {
    for (const [layout, key, code, meant] of LAYOUTS) assertEqual([layout, keyOf({ key, code })], [layout, meant]);
    assertEqual(keyOf({ key: "f" }), "f");
    assertEqual([keyOf({ key: "F", code: "KeyF", shiftKey: true }), keyOf({ key: "А", code: "KeyF", shiftKey: true })], ["F", "F"]);
    assertEqual(keyOf(new KeyboardEvent("keydown", { key: "а", code: "KeyF" })), "f");
});

test("the keys of the glass box work on a Cyrillic layout", () => {
    const moves = [];
    const controls = new Controls({
        app: { announce: () => {}, update: () => {} },
        step: () => 0,
        next: (_step, unit, direction) => (moves.push([unit, direction]), 0),
        go: () => {},
        text: () => "",
    });
    for (const code of ["KeyN", "KeyP", "KeyF"])
        controls.onKey(new KeyboardEvent("keydown", { key: { KeyN: "т", KeyP: "з", KeyF: "а" }[code], code }));
    assertEqual(moves, [["cut", 1], ["cut", -1]]);
});
