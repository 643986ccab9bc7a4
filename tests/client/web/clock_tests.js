import { EMPTY_MODEL, apply, follow } from "/client/web/shell/model.js";
import { h, render } from "/client/web/shell/elements.js";
import { isDraw, resultText } from "/client/web/shell/words.js";
import { clockBefore, controlText, firstTurnLeft_ms, noteOf, parseControl, readingOf, staysFor_ms, timeText, wholeTimeText } from "/client/web/ui/clock/clock.js";
import { ClockField } from "/client/web/ui/clock/field.js";
import { OtherControl } from "/client/web/ui/clock/other.js";
import { RoomClock } from "/client/web/pages/room/clock.js";
import { logLine } from "/client/web/pages/room/events.js";
import { neededParts } from "/client/web/pages/room/later.js";
import { assert, assertEqual, flushPromises, test } from "./testing.js";

/** A control of each kind. */
const CONTROLS = ["300", "300+3", "300d5", "300b5", "40/5400+30:1800+30", "600+3x30", "600+25/300", "2/60:3/60+1:30+5x10", "0+10", "10800+180"];
const ADA = { identity: "ada", name: "Ada" };
const BEN = { identity: "ben", name: "Ben" };
const BOARD = {
    board: { kind: "grid", cols: 1, rows: 1 },
    kinds: {},
    seats: [
        { name: "White", colour: "#fff" },
        { name: "Black", colour: "#000" },
    ],
};
/** A text whose spaces may break. */
const plain = (text) => text.replaceAll("\u00a0", " ");
const START_MS = 1_000_000;

/** Ada's model of a room with a match; these events follow the start, each a second after the last. */
function modelOf(control, clocks_ms, events = [], { one_screen = false, may = ["add_time", "resign"] } = {}) {
    const description = { game: "chess", title: "Chess", options: {}, host: "ada", levels: 3, view: BOARD, one_screen };
    const started = { kind: "started", match: "m", number: 1, start: "", rules: "", seats: [ADA, BEN], clock: control, clocks_ms };
    const logged = [started, ...events].map((event, i) => ({ t: "event", room: "r", v: 2 + i, at: START_MS + 1000 * i, match: "m", ...event }));
    return [
        { t: "welcome", protocol: 1, identity: "ada", name: "Ada", epoch: "e", at: 1 },
        { t: "joined", room: "r", v: 1, epoch: "e", description, may },
        { t: "snapshot", room: "r", v: 1, seats: [ADA, BEN], match: null, clock: control },
        ...logged,
    ].reduce(apply, follow(EMPTY_MODEL, "r"));
}

const moved = (ply, clock_ms, more = {}) => ({ kind: "moved", ply, seat: ply % 2, move: "x", digest: "", clock_ms, spent_ms: 1000, ...more });

/** A room's clocks on a page with a time that the test turns; `spoken` has what was announced. */
function clocksOf(model, now_ms) {
    const page = { model, spoken: [], played: [], now_ms, titles: 0, sent: [] };
    const app = {
        get model() {
            return page.model;
        },
        session: { serverTime_ms: () => page.now_ms },
        announce: (text) => page.spoken.push(text),
        command: async (command) => void page.sent.push(command),
    };
    page.clocks = new RoomClock(app, () => (page.titles += 1), (sound) => page.played.push(sound));
    page.draw = () => {
        const { room } = page.model;
        render(document.body, [0, 1].map((seat) => page.clocks.draw(room, seat)), page.clocks.drawState(room));
        page.clocks.show();
        return [...document.querySelectorAll(".digits")].map((digits) => digits.textContent);
    };
    page.at = (ms) => {
        page.now_ms = ms;
        page.clocks.show();
    };
    return page;
}

test("a control is read as the log has it, and its words name its kind", () => {
    assertEqual(parseControl("40/5400+30:1800d5"), {
        stages: [
            { base_ms: 5_400_000, kind: "+", gain_ms: 30_000, turns: 40 },
            { base_ms: 1_800_000, kind: "d", gain_ms: 5000, turns: null },
        ],
        overtime: null,
    });
    assertEqual([parseControl("600+3x30").overtime, parseControl("300+3<900").stages[0].gain_ms], [{ kind: "x", count: 3, period_ms: 30_000 }, 3000]);
    assertEqual(["", "-", "5 minutes", "300+", "1:2:x"].map(parseControl), [null, null, null, null, null]);
    assertEqual(["60", "300+3", "30+1", "300d5", "600+3x30", "600+25/300", "40/5400+30:1800+30", "soon"].map(controlText).map(plain), [
        "1+0",
        "5+3",
        "0.5+1",
        "5 min, delay 5 s",
        "10 min, then 3 × 30 s",
        "10 min, then 25 turns in 5 min",
        "40 turns in 90+30, then 30+30",
        "soon",
    ]);
});

test("the form for another control writes the control with which it began", () => {
    assertEqual(CONTROLS.filter((text) => !text.includes(":") || !text.includes("x")).map((text) => new OtherControl(text, () => {}).text), CONTROLS.filter((text) => !text.includes(":") || !text.includes("x")));
});

test("a control stays as it is until a field is changed, and the form says what it cannot hold", () => {
    for (const text of ["300+30<900", "600+5+3x30", "40/5400:1800+3x30", "40/300d5:60d5", "300~3", "600+3x30"]) {
        const draw = () => render(document.body, h("div", null, form.draw("")));
        const form = new OtherControl(text, () => draw());
        draw();
        const isHeld = text === "600+3x30";
        assertEqual([form.text, document.querySelector("code")?.textContent], [text, isHeld ? undefined : text]);
        const minutes = [...document.querySelectorAll("label")].find((label) => label.textContent.startsWith("Minutes")).querySelector("input");
        minutes.value = "2";
        minutes.dispatchEvent(new Event("input"));
        assert(form.text !== text && parseControl(form.text) !== null, form.text);
        assertEqual(document.querySelector("code"), null);
    }
});

test("times have tenths below ten seconds only, and say how long they are right", () => {
    assertEqual([3_909_000, 298_999, 10_000, 9999, 60, 0].map(timeText), ["1:05:09", "4:58", "0:10", "9.9", "0.0", "0.0"]);
    assertEqual([9999, 3_600_000].map(wholeTimeText), ["0:09", "1:00:00"]);
    const clock = { control: "300", left_ms: [299_500, 20_000], since_ms: 0, running: 0 };
    for (let now_ms = 0; now_ms < 299_500;) {
        const reading = readingOf(clock, 0, now_ms);
        const wait_ms = staysFor_ms(reading);
        const later = readingOf(clock, 0, now_ms + wait_ms);
        assert(timeText(later.left_ms) !== timeText(reading.left_ms) || later.left_ms === 0, `the text changes after ${now_ms} + ${wait_ms}`);
        assertEqual(timeText(readingOf(clock, 0, now_ms + wait_ms - 1).left_ms), timeText(reading.left_ms));
        now_ms += wait_ms;
    }
    assertEqual([staysFor_ms(readingOf(clock, 1, 5000)), readingOf(clock, 0, 400_000).left_ms], [null, 0]);
});

test("a reading follows the delay, the periods and the block of overtime", () => {
    const at = (clock, now_ms) => {
        const reading = readingOf({ since_ms: 0, running: 0, ...clock }, 0, now_ms);
        return [reading.left_ms, plain(noteOf(parseControl(clock.control), reading))];
    };
    const delay = { control: "300d5", left_ms: [300_000, 1], used_ms: 1000 };
    assertEqual([0, 3999, 4000, 5000].map((ms) => at(delay, ms)), [
        [300_000, "delay 4 s"],
        [300_000, "delay 1 s"],
        [300_000, "delay 0 s"],
        [299_000, "delay 0 s"],
    ]);
    assertEqual(at({ ...delay, running: 1 }, 9000), [300_000, "delay 5 s"]);
    const periods = { control: "600+3x30", left_ms: [10_000, 1], stages: [0, 0], periods: [3, 3] };
    assertEqual([9999, 10_000, 40_000, 70_000, 99_999, 100_000].map((ms) => at(periods, ms)), [
        [1, "3 × 30 s"],
        [30_000, "3 × 30 s"],
        [30_000, "2 × 30 s"],
        [30_000, "last period"],
        [1, "last period"],
        [0, "last period"],
    ]);
    assertEqual(at({ ...periods, left_ms: [0, 1], running: null }, 0), [0, "3 × 30 s"]);
    const block = { control: "600+25/300", left_ms: [10_000, 1], stages: [0, 0], periods: [0, 0] };
    assertEqual([0, 10_000, 310_000].map((ms) => at(block, ms)), [
        [10_000, "25 turns in 5 min"],
        [300_000, "25 turns to go"],
        [0, "25 turns to go"],
    ]);
    const stages = { control: "40/5400:1800", left_ms: [60_000, 1], stages: [0, 0], periods: [12, 40] };
    assertEqual(at(stages, 1000), [59_000, "12 turns to +30 min"]);
});

test("before a match each side has what it starts with", () => {
    assertEqual(["300+3", "300b5", "0+10", "0+1", "300d5", "2/60:30+3x30"].map((text) => clockBefore(text).left_ms[0]), [300_000, 305_000, 10_000, 3000, 300_000, 60_000]);
    assertEqual([clockBefore("600+3x30").periods, clockBefore("soon")], [[3, 3], null]);
});

test("the clock starts when both sides have finished a turn, and follows the events", () => {
    const clockAt = (events) => {
        const { left_ms, running, since_ms, used_ms } = modelOf("300+3", [300_000, 300_000], events).room.match.clock;
        return [...left_ms, running, since_ms - START_MS, used_ms];
    };
    const opening = [moved(0, 300_000), moved(1, 300_000)];
    assertEqual(clockAt([]), [300_000, 300_000, null, 0, 0]);
    assertEqual(clockAt(opening.slice(0, 1)), [300_000, 300_000, null, 1000, 0]);
    assertEqual(clockAt(opening), [300_000, 300_000, 0, 2000, 0]);
    assertEqual(clockAt([...opening, moved(2, 302_000)]), [302_000, 300_000, 1, 3000, 0]);
    assertEqual(clockAt([...opening, moved(2, 299_000, { goes_on: true })]), [299_000, 300_000, 0, 3000, 1000]);
    assertEqual(clockAt([...opening, { kind: "time_added", seat: 1, ms: 15_000 }]), [300_000, 315_000, 0, 2000, 0]);
    const taken = { kind: "took_back", to_ply: 1, seat: 1, digest: "", clocks_ms: [297_000, 300_000] };
    assertEqual(clockAt([...opening, taken]), [297_000, 300_000, null, 3000, 0]);
    const held = { kind: "held", why: "outage", since_ms: START_MS + 2500 };
    const released = { kind: "released", clocks_ms: [299_500, 300_000], from_ms: START_MS + 9000 };
    assertEqual(clockAt([...opening, held, released]), [299_500, 300_000, 0, 9000, 500]);
    const flag = { kind: "finished", winner: 1, how: "flag", reason: "White ran out of time", clocks_ms: [0, 300_000] };
    assertEqual(clockAt([...opening, flag]), [0, 300_000, null, 2000, 0]);
    assertEqual(modelOf("300+3", [300_000, 300_000], [moved(0, null)]).room.match.clock, null);
    assertEqual(modelOf(null, null, []).room.match.clock, undefined);
});

test("a clock is right after ten minutes without a timer", () => {
    const page = clocksOf(modelOf("1800", [1_800_000, 1_800_000], [moved(0, 1_800_000), moved(1, 1_800_000)]), START_MS + 2000);
    window.setTimeout = () => 0;
    assertEqual(page.draw(), ["30:00", "30:00"]);
    page.now_ms += 601_000;
    document.dispatchEvent(new Event("visibilitychange"));
    assertEqual([...document.querySelectorAll(".digits")].map((digits) => digits.textContent), ["19:59", "30:00"]);
    assertEqual([...document.querySelectorAll(".face.runs")].length, 1);
    const { room } = page.model;
    page.model = { ...page.model, room: { ...room, frozen: "room.newer" } };
    assertEqual([page.draw()[0], document.querySelectorAll(".face.runs").length], ["30:00", 0]);
    page.model = { ...page.model, room };
    page.draw();
    page.clocks.stop();
    page.now_ms += 60_000;
    document.dispatchEvent(new Event("visibilitychange"));
    assertEqual(document.querySelector(".digits").textContent, "19:59");
});

test("the timer waits for the next text, not for a frame", () => {
    const waits = [];
    window.setTimeout = (_, ms) => waits.push(ms);
    const page = clocksOf(modelOf("20", [20_000, 20_000], [moved(0, 20_000), moved(1, 20_000)]), START_MS + 2300);
    page.draw();
    page.at(START_MS + 2000 + 10_950);
    assertEqual(waits, [701, 51]);
});

test("screen readers hear a minute, 30 and 10 seconds of the own clock once, and the page plays no frame", () => {
    const page = clocksOf(modelOf("90", [90_000, 90_000], [moved(0, 90_000), moved(1, 90_000)]), START_MS + 2000);
    window.setTimeout = () => 0;
    page.draw();
    for (const second of [29, 31, 59, 61, 62, 79, 81, 82]) page.at(START_MS + 2000 + 1000 * second);
    // More time does not make it speak the same again.
    page.model = modelOf("90", [90_000, 90_000], [moved(0, 90_000), moved(1, 90_000), { kind: "time_added", seat: 0, ms: 15_000 }]);
    for (const second of [83, 97]) page.at(START_MS + 2000 + 1000 * second);
    assertEqual(page.spoken, ["One minute left", "30 seconds left", "10 seconds left"]);
    const other = clocksOf(modelOf("90", [90_000, 90_000], [moved(0, 90_000), moved(1, 90_000), moved(2, 89_000)]), START_MS + 3000);
    other.draw();
    other.at(START_MS + 3000 + 85_000);
    assertEqual(other.spoken, []);
});

test("time is low below an eighth of what the stage gave, as in a terminal", async () => {
    const table = await (await fetch("/tests/data/low-times.json")).json();
    for (const [control, times] of Object.entries(table)) {
        const at = (stage) => readingOf({ control, left_ms: [1, 1], since_ms: 0, stages: [stage, 0], periods: [0, 0] }, 0, 0).low_ms;
        assertEqual([control, times.map((_, stage) => at(stage))], [control, times]);
    }
});

test("low time has a sound also where screen readers hear it", () => {
    const page = clocksOf(modelOf("60", [60_000, 60_000], [moved(0, 60_000), moved(1, 60_000)]), START_MS + 2000);
    window.setTimeout = () => 0;
    page.draw();
    for (const second of [49, 51, 52]) page.at(START_MS + 2000 + 1000 * second);
    assertEqual([page.spoken, page.played], [["30 seconds left", "10 seconds left"], ["low"]]);
});

test("low time has a mark, and the first turn a countdown that is not the clock", () => {
    const page = clocksOf(modelOf("300", [300_000, 300_000], [moved(0, 300_000), moved(1, 300_000)]), START_MS + 2000);
    window.setTimeout = () => 0;
    page.draw();
    page.at(START_MS + 2000 + 262_499);
    assertEqual(document.querySelectorAll(".face.low").length, 0);
    page.at(START_MS + 2000 + 262_501);
    assertEqual([...document.querySelectorAll(".face")].map((face) => face.textContent), ["White's clock, low, running: 0:37", "Black's clock: 5:00"]);
    assertEqual(document.querySelectorAll(".face.low").length, 1);
    page.at(START_MS + 2000 + 270_000);
    page.model = modelOf("300", [300_000, 300_000], [moved(0, 300_000), moved(1, 300_000), moved(2, 30_000)]);
    page.at(START_MS + 3000 + 290_000);
    assertEqual(page.played, ["low"]); // once, and not for the opponent's
    const { room } = modelOf("300", [300_000, 300_000]);
    assertEqual(firstTurnLeft_ms(room.match.clock, START_MS + 4000), 26_000);
    assertEqual(["60", "10800"].map((control) => firstTurnLeft_ms(clockBefore(control), 0)), [10_000, 30_000]);
    assertEqual(firstTurnLeft_ms({ ...clockBefore("60"), first_ms: 120_000 }, 0), 120_000);
    const model = modelOf("300", [300_000, 300_000]);
    model.room.views[0] = { turn: 0, pieces: {}, text: "" };
    const early = clocksOf(model, START_MS + 4000);
    early.draw();
    assertEqual(document.querySelector(".first-turn").textContent, "The first move of Ada is due in 0:26. The clocks start after both moves.");
    const again = modelOf("300", [300_000, 300_000], [moved(0, 300_000)]);
    again.room.views = [0, 0].map((turn) => ({ turn, pieces: {}, text: "" }));
    const second = clocksOf(again, START_MS + 4000);
    second.draw();
    const told = [...document.querySelectorAll(".first-turn")].at(-1).textContent;
    assert(told.startsWith("The next move of Ada is due in "), told);
});

test("the button gives the opponent time, and a clock that stands says why", () => {
    const opening = [moved(0, 300_000), moved(1, 300_000)];
    const page = clocksOf(modelOf("300", [300_000, 300_000], opening), START_MS + 2000);
    page.draw();
    document.querySelector("button").click();
    assertEqual(page.sent, [{ t: "add_time", room: "r" }]);
    page.model = modelOf("300", [300_000, 300_000], [...opening, { kind: "held", why: "outage", since_ms: START_MS + 2500 }], { may: [] });
    page.now_ms += 60_000;
    assertEqual(page.draw(), ["4:59", "5:00"]);
    assertEqual(document.querySelector(".clock-state").textContent, "The clock stands: the server was away. Nobody loses time.");
    assertEqual(document.querySelector("button"), null);
    const { room } = page.model;
    assertEqual(logLine({ kind: "time_added", seat: 1, ms: 15_000 }, room, 0), "You gave Ben 15 seconds");
    assertEqual(["outage", "tides"].map((why) => logLine({ kind: "held", why }, room, 0)), ["The clock stands: the server was away", "The clock stands"]);
    assertEqual(logLine({ kind: "time_added", seat: 0, ms: 15_000 }, room, 0), "Ben gave you 15 seconds");
});

test("a room without a clock loads no clock, and one with a clock does before its match", () => {
    const untimed = modelOf(null, null);
    assertEqual([neededParts(untimed, untimed.room).includes("clock"), clocksOf(untimed, 0).clocks.draw(untimed.room, 0)], [false, null]);
    const before = { ...untimed.room, match: null, clock: "300+3" };
    assertEqual(neededParts(untimed, before).includes("clock"), true);
    const page = clocksOf({ ...untimed, room: before }, 0);
    assertEqual(page.draw(), ["5:00", "5:00"]);
});

test("a flag that nobody wins is a draw, and a player who did not come leaves no result", () => {
    const over = (how, winner = null) => ({ how, winner, reason: "" });
    assertEqual([over("flag"), over("noshow")].map(isDraw), [true, false]);
    assertEqual([over("flag"), over("noshow"), over("flag", 1)].map((each) => resultText(each, BOARD)), ["Draw", "No result", "Black wins"]);
});

test("a refused control is shown at the form, and another choice takes the refusal away", async () => {
    const draw = () => render(document.body, h("div", null, field.drawSegments()));
    const field = new ClockField("77+3x30", () => draw());
    draw();
    for (let i = 0; i < 100 && !document.querySelector(".other-control"); i++) await flushPromises();
    assertEqual([field.isOther, field.value], [true, "77+3x30"]);
    field.refuse("the number of periods is 1 to 200, not 0");
    assertEqual(document.querySelector("[role=alert]").textContent, "The number of periods is 1 to 200, not 0");
    const describedBy = () => document.querySelector(".other-control input").getAttribute("aria-describedby");
    assertEqual(describedBy(), document.querySelector("[role=alert]").id);
    document.querySelector("input[value='180+2']").click();
    assertEqual([document.querySelector("[role=alert]"), field.value], [null, "180+2"]);
    document.querySelector("input[value='']").click();
    assertEqual(field.value, null);
});

test("a list of time controls says what each is", () => {
    const field = new ClockField(null, () => {});
    render(document.body, h("div", null, field.drawSelect()));
    const texts = [...document.querySelectorAll("option")].map((option) => option.textContent);
    assertEqual(texts.slice(0, 4), ["Untimed", "1 minute", "3 minutes + 2 s a turn", "5 minutes + 3 s a turn"]);
    assertEqual(texts.slice(4), ["10 minutes + 5 s a turn", "15 minutes + 10 s a turn", "30 minutes", "Other…"]);
});

test("with two fields on a page, the refusal is at its own, which takes the focus", async () => {
    const draw = () => render(document.body, h("div", { id: "door" }, door.drawSelect()), h("div", { id: "sheet" }, sheet.drawSegments()));
    const door = new ClockField("77+3x30", () => draw());
    const sheet = new ClockField("78+3x30", () => draw());
    draw();
    for (let i = 0; i < 100 && document.querySelectorAll(".other-control").length < 2; i++) await flushPromises();
    for (const [field, id] of [[sheet, "sheet"], [door, "door"]]) {
        field.refuse("no");
        const [alert, focused] = [document.querySelector(`#${id} [role=alert]`), document.activeElement];
        assertEqual([focused.closest(`#${id}`) !== null, focused.getAttribute("aria-describedby")], [true, alert.id]);
    }
    assertEqual(new Set([...document.querySelectorAll("[id]")].map(({ id }) => id)).size, document.querySelectorAll("[id]").length);
});

/** The golden logs of matches with clocks (tests/data/logs): the server and the terminal read them too. */
const LOGS = ["bronstein", "byo-yomi", "canadian", "delay", "extra-turns", "fischer", "holds", "noshow", "stages", "sudden"];

test("the golden logs with clocks make the server's clocks, with or without a snapshot", async () => {
    const read = async (file) => (await fetch(`/tests/data/logs/clock-${file}`)).text();
    const filled = ({ held_ms, ...clock }) => ({ ...clock, running: clock.running ?? null, used_ms: clock.used_ms ?? 0, move_ms: clock.move_ms ?? 0, held: clock.held ?? null, stages: clock.stages ?? null, periods: clock.periods ?? null });
    const sorted = (clock) => Object.entries(filled(clock)).sort();
    for (const name of LOGS) {
        const { player } = JSON.parse(await read(`${name}.json`));
        const entries = (await read(`${name}.jsonl`)).trim().split("\n").map((line) => JSON.parse(line));
        const events = entries.map(({ at, body }, i) => ({ t: "event", room: "r", v: i + 1, at, ...body }));
        const { room } = events.reduce((model, event) => apply(model, event), follow(EMPTY_MODEL, "r"));
        assertEqual([name, room.v, room.clock, sorted(room.match.clock)], [name, player.v, player.clock, sorted(player.match.clock)]);
    }
});
