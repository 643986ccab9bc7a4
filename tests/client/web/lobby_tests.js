import { createCommand, describeChoices, readChoices, validChoices } from "/client/web/pages/lobby/choices.js";
import { keepPlayed } from "/client/web/pages/room/played.js";
import { keepChoices } from "/client/web/ui/matches/kept.js";
import { choicesThrough, levelOf } from "/client/web/pages/lobby/doors.js";
import { currentOf, drawMine, drawPublic, drawWaiting, isAlreadyThere } from "/client/web/pages/lobby/rooms.js";
import { LobbyPage } from "/client/web/pages/lobby/page.js";
import { h, render } from "/client/web/shell/elements.js";
import { assert, assertEqual, flushPromises, test } from "./testing.js";

const CHESS = {
    id: "chess",
    title: "Chess",
    levels: 8,
    options: {},
    view: {
        board: { kind: "grid", cols: 2, rows: 2, style: "plain" },
        seats: [
            { name: "White", colour: "#fff" },
            { name: "Black", colour: "#000" },
        ],
        kinds: {},
    },
};
const SWAP = { title: "Swap", default: "yes", offered: ["yes", "no"], phrases: { no: "Without the swap rule" } };
const HEX = { ...CHESS, id: "hex", title: "Hex", levels: 3, options: { swap: SWAP } };
const GAMES = [CHESS, HEX];
const ADA = { identity: "ada", name: "Ada" };
const BEN = { identity: "ben", name: "Ben" };
const AI = { identity: "ai", name: "AI level 3", kind: "ai", level: 3 };

/** The lists without a filter. */
const ALL_TIMES = { now_ms: 0, speed: "", pick: () => {} };

/** Returns a room of the lobby. */
function room(id, state, seats) {
    return { room: id, game: "chess", title: "Chess", options: {}, seats, state, created_ms: 1 };
}

/** Returns the text of what a function of a page draws. */
function textOf(content) {
    const parent = document.createElement("div");
    render(parent, content);
    return parent.textContent;
}

/** Returns Ada's model of a lobby with these rooms. */
const lobbyOf = (...rooms) => ({ you: ADA, waiting: [], lobby: Object.fromEntries(rooms.map((each) => [each.room, each])) });

test("choices that a game does not have become its defaults", () => {
    const before = { game: "chess", opponent: "robot", level: "7", secondLevel: "swindler", side: "1", options: { swap: "no" } };
    assertEqual(validChoices(HEX, before), {
        game: "hex",
        options: { swap: "yes" },
        opponent: "ai",
        level: "3",
        secondLevel: "swindler",
        side: "1",
        visibility: "public",
        atHome: "unlisted",
        invitation: "unlisted",
    });
    assertEqual(validChoices(HEX, { ...before, game: "hex" }).options, { swap: "no" });
    assertEqual([validChoices(HEX).level, validChoices(CHESS).level, validChoices(CHESS, { level: "x" }).level], ["1", "1", "1"]);
});

test("the latest choices are kept, each once and the latest first", () => {
    // This page has no storage of its own; a page without storage has no latest choices.
    let stored = null;
    const storage = { getItem: () => stored, setItem: (_, text) => (stored = text) };
    Object.defineProperty(window, "localStorage", { configurable: true, value: storage });
    const [a, b] = [validChoices(CHESS), validChoices(HEX)];
    for (const choices of [a, b, a]) keepChoices(choices);
    assertEqual(readChoices(GAMES), [a, b]);
    assertEqual(readChoices([HEX]), [b]);
    for (let level = 1; level <= 20; level += 1) keepChoices({ ...a, secondLevel: String(level) });
    assertEqual(readChoices(GAMES).length, 12);
    for (const text of ["", "{", "7", "[1, null]", '[{"game":"go"}]']) {
        stored = text;
        assertEqual(readChoices(GAMES), []);
    }
});

test("what is played next in a room is kept as the latest choices, and a rematch is no other choice", () => {
    localStorage.clear();
    const played = ({ seats = [ADA, AI], clock = null, ...description }) => {
        const room = { seats, clock, match: { seats }, description: { options: {}, ...description } };
        keepPlayed({ you: ADA, room });
        return readChoices(GAMES).map((choices) => describeChoices(GAMES.find(({ id }) => id === choices.game), choices));
    };
    keepChoices(validChoices(CHESS, { game: "chess", opponent: "ai", level: "3", visibility: "unlisted" }));
    const first = "Chess, level 3, White, only with the link";
    assertEqual(played({ game: "chess", seats: [AI, ADA] }), [first]);
    const hex = "Hex, without the swap rule, level 3, Black, only with the link";
    assertEqual(played({ game: "hex", options: { swap: "no" }, seats: [AI, ADA] }), [hex, first]);
    assertEqual(played({ game: "chess" }), [first, hex]);
    const harder = { ...AI, level: 4 };
    assertEqual(played({ game: "chess", seats: [ADA, harder] })[0], "Chess, level 4, White, only with the link");
    assertEqual(played({ game: "chess", seats: [ADA, BEN], clock: "300+3" })[0], "Chess with a friend, 5+3, White");
    assertEqual(played({ game: "hex", seats: [ADA, { ...ADA, name: "Mia" }], one_screen: true })[0], "Hex on one screen");
    const minimax = { identity: "ai", kind: "ai", name: "CP", strategy: "minimax", depth: 5 };
    assertEqual(played({ game: "chess", seats: [ADA, minimax] })[0], "Chess, MiniMax depth 5, White, only with the link");
    const count = readChoices(GAMES).length;
    assertEqual(played({ game: "hex", seats: [BEN, AI] }).length, count); // to watch is no choice
});

test("choices are described in one line", () => {
    const choices = validChoices(HEX);
    assertEqual(describeChoices(HEX, choices), "Hex, level 1, White");
    assertEqual(
        describeChoices(HEX, { ...choices, opponent: "friend", side: "random", options: { swap: "no" } }),
        "Hex with a friend, without the swap rule, either side",
    );
    assertEqual(
        describeChoices(HEX, { ...choices, opponent: "duel", secondLevel: "swindler" }),
        "Hex, level 1 against Swindler",
    );
    assertEqual(describeChoices(HEX, { ...choices, opponent: "screen" }), "Hex on one screen");
    const open = { ...choices, opponent: "friend", invitation: "public" };
    assertEqual(describeChoices(HEX, open), "Hex with a friend, White, open to anyone");
});

test("the chosen side and opponents become the seats of the room", () => {
    const choices = validChoices(CHESS, { side: "random", level: "2" });
    const [me, ai] = [{ who: "me" }, { who: "ai", level: 2 }];
    assertEqual([0.4, 0.6].map((chance) => createCommand(choices, chance).seats), [[me, ai], [ai, me]]);
    const friend = { ...choices, opponent: "friend", side: "1" };
    assertEqual(createCommand(friend, 0).seats, [{ who: "open" }, me]);
    const duel = { ...choices, opponent: "duel", secondLevel: "swindler" };
    assertEqual(createCommand(duel, 0).seats, [ai, { who: "ai", persona: "swindler" }]);
    assertEqual([choices, friend, { ...friend, invitation: "public" }].map((each) => createCommand(each, 0).visibility), ["public", "unlisted", "public"]);
    const screen = createCommand({ ...choices, opponent: "screen" }, 0);
    assertEqual([screen.one_screen, screen.seats.map(({ name }) => name), screen.visibility], [true, ["Player 1", "Player 2"], "unlisted"]);
});

test("only a room for two people has the choice of the bot's help, which is kept", () => {
    localStorage.clear();
    const friend = validChoices(CHESS, { game: "chess", opponent: "friend", help: true });
    assertEqual(createCommand(friend, 0).help, true);
    assertEqual(describeChoices(CHESS, friend), "Chess with a friend, White, with the bot's help");
    assertEqual("help" in createCommand({ ...friend, opponent: "ai" }, 0), false);
    assertEqual("help" in createCommand({ ...friend, help: false }, 0), false);
    keepChoices({ ...friend, help: false });
    keepChoices(validChoices(CHESS, { game: "chess", opponent: "friend" }));
    assertEqual(readChoices(GAMES).map(({ help }) => help), [undefined]);
    keepChoices(friend);
    assertEqual(readChoices(GAMES).map(({ help }) => help), [true, undefined]);
});

test("a start position is part of the room, and is not kept for the next one", () => {
    localStorage.clear();
    const choices = validChoices(CHESS, {});
    assertEqual("start" in createCommand({ ...choices, start: null }, 0), false);
    assertEqual(createCommand({ ...choices, start: "8/8 w" }, 0).start, "8/8 w");
    keepChoices({ ...choices, start: "8/8 w" });
    assertEqual(readChoices(GAMES).map(({ start }) => start), [undefined]);
});

test("the text in place of missing rooms is true", () => {
    const text = (model) => textOf(drawPublic(model, GAMES, () => {}, ALL_TIMES));
    const open = room("o", "open", [BEN, null]);
    const playing = room("p", "playing", [BEN, AI]);
    assertEqual(text({ you: ADA, lobby: null }).includes("Loading"), true);
    assertEqual(text(lobbyOf()).includes("No public match is open now."), true);
    assertEqual(text(lobbyOf(room("m", "playing", [ADA, AI]))).includes("No public match is open now."), true);
    assertEqual(text(lobbyOf(playing)).includes("No room waits for a player. You can watch a match"), true);
    assertEqual(/No |Loading/.test(text(lobbyOf(playing, open))), false);
    assertEqual(text(lobbyOf(open)).includes("Being played"), false);
});

test("a room is joined beside a person who is there", () => {
    const buttons = (entry) => {
        const parent = document.createElement("div");
        render(parent, drawPublic(lobbyOf(entry), GAMES, () => {}, ALL_TIMES));
        const [line] = parent.querySelectorAll("li");
        return [line.querySelectorAll("button").length, line.textContent.includes("Host away"), line.classList.contains("host-away")];
    };
    const waiting = room("o", "open", [BEN, null]);
    assertEqual(buttons(waiting), [1, false, false]);
    assertEqual(buttons({ ...waiting, away: [0] }), [0, true, true]);
    assertEqual(buttons({ ...waiting, away: [] }), [1, false, false]);
    assertEqual(buttons(room("o", "open", [AI, null])), [0, false, true]);
    assertEqual(buttons(room("o", "playing", [BEN, AI])), [0, false, false]);
});

test("the people who wait in rooms that you may join are counted once each, and lead to the list", () => {
    const text = (...rooms) => textOf(drawWaiting(lobbyOf(...rooms)));
    const waiting = room("o", "open", [BEN, null]);
    const kim = room("k", "open", [null, { identity: "kim", name: "Kim" }]);
    assertEqual(text(waiting), "1 person waits for a player");
    assertEqual(text(waiting, kim, room("o2", "open", [BEN, null])), "2 people wait for a player");
    const others = [{ ...waiting, away: [0] }, room("a", "open", [AI, null]), room("m", "open", [ADA, null]), room("p", "playing", [BEN, AI])];
    assertEqual(others.map((each) => text(each)), ["", "", "", ""]);
    assertEqual(drawWaiting({ you: ADA, lobby: null, waiting: [] }), null);
    const model = lobbyOf(waiting);
    render(document.body, [drawWaiting(model), drawPublic(model, GAMES, () => {}, ALL_TIMES)]);
    document.querySelector(".who-waits").click();
    assertEqual(document.activeElement.textContent, "Waiting for a player");
    render(document.body, null);
});

test("a door and a game make a room", () => {
    const through = (way, before = {}) => choicesThrough(way, CHESS, { game: "chess", side: "1", invitation: "public", ...before });
    assertEqual(createCommand(through("link"), 0).visibility, "unlisted");
    assertEqual(createCommand(through("anyone", { invitation: "unlisted" }), 0).visibility, "public");
    const screen = choicesThrough("screen", CHESS, { visibility: "public" }, ["Mia", ""]);
    assertEqual(createCommand(screen, 0).seats, [{ who: "me", name: "Mia" }, { who: "me", name: "Player 2" }]);
    assertEqual([createCommand(screen, 0).one_screen, createCommand(screen, 0).visibility], [true, "unlisted"]);
    assertEqual(createCommand(through("hard", { level: "2" }), 0).seats, [{ who: "ai", level: 7 }, { who: "me" }]);
    assertEqual(createCommand(through("easy", { visibility: "public" }), 0).visibility, "unlisted");
    assertEqual(through("more"), null);
    for (const levels of [1, 2, 3, 5, 6, 8]) {
        const [easy, medium, hard] = ["easy", "medium", "hard"].map((way) => Number(levelOf(way, { ...CHESS, levels })));
        assertEqual([easy, easy <= medium, medium <= hard, hard <= levels], [1, true, true, true]);
    }
    assertEqual(levelOf("hard", { ...CHESS, levels: 0 }), "strategy:alphabeta");
});

test("a door decides who watches its own match, and no other", () => {
    localStorage.clear();
    keepChoices(choicesThrough("easy", CHESS, {}, ["", ""]));
    keepChoices({ ...validChoices(CHESS), level: "1" });
    const [chosen, doors] = readChoices(GAMES);
    assertEqual([chosen, doors].map((each) => createCommand(each, 0).visibility), ["public", "unlisted"]);
    assertEqual([chosen, doors].map((each) => describeChoices(CHESS, each)), ["Chess, level 1, White", "Chess, level 1, White, only with the link"]);
    assertEqual(createCommand(validChoices(HEX, { ...doors, door: false }), 0).visibility, "public");
    const screen = choicesThrough("screen", CHESS, doors, ["", ""]);
    assertEqual(["door" in screen, describeChoices(CHESS, { ...screen, atHome: "public" })], [false, "Chess on one screen, anyone can watch"]);
});

test("your own rooms are among your matches and not among the public ones", () => {
    const model = lobbyOf(room("m", "playing", [ADA, AI]), room("w", "open", [ADA, null]), room("p", "playing", [BEN, AI]));
    const mine = textOf(drawMine(model, GAMES, null));
    assertEqual(["against AI level 3", "waits for a second player", "Ben"].map((words) => mine.includes(words)), [true, true, false]);
    assertEqual(textOf(drawPublic(model, GAMES, () => {}, ALL_TIMES)).includes("Ada"), false);
    assertEqual(drawMine(lobbyOf(), GAMES, null), null);
});

test("a match of yours is listed once, with its result", () => {
    const match = { match: "m", room: "r", game: "chess", title: "Chess", seats: [ADA, BEN], plies: 9, length: "5 moves", started_ms: 1 };
    const over = (winner, how) => ({ ...match, match: `${winner}`, finished_ms: 2, over: { winner, how, reason: "" } });
    const finished = [over(0, "board"), over(1, "resign"), over(null, "agreement"), over(null, "abort")];
    const mine = { running: [match], finished, waiting: [room("r", "open", [ADA, null])] };
    const text = textOf(drawMine(lobbyOf(room("r", "playing", [ADA, BEN])), GAMES, mine));
    const screen = { ...over(1, "board"), seats: [ADA, ADA], match: "s" };
    const onOneScreen = textOf(drawMine(lobbyOf(), GAMES, { ...mine, finished: [screen] }));
    assertEqual(["on one screen", "Black won", "You lost"].map((words) => onOneScreen.includes(words)), [true, true, false]);
    const turns = [0, 1, null].map((turn) => textOf(drawMine(lobbyOf(), GAMES, { ...mine, running: [{ ...match, turn }], finished: [] })));
    assertEqual(turns.map((line) => ["Your turn", "Their turn", "Play on"].find((words) => line.includes(words))), ["Your turn", "Their turn", "Play on"]);
    const buttons = (seat) => {
        const parent = document.createElement("div");
        render(parent, drawMine(lobbyOf(), GAMES, { ...mine, running: [{ ...match, turn: seat }], finished: [] }));
        return [...parent.querySelectorAll("a .awaits")].map((hint) => hint.textContent);
    };
    assertEqual([buttons(0), buttons(1)], [["Your turn"], []]);
    for (const words of ["Play on", "You won", "You lost", "Draw", "No result"]) assertEqual(text.split(words).length, 2);
    assertEqual(text.includes("waits"), false);
});

test("a room of tonight stands for its matches, first where the other one offers something", () => {
    const between = room("r", "finished", [ADA, BEN]);
    const match = { match: "m", room: "r", game: "chess", title: "Chess", seats: [ADA, BEN], plies: 9, length: "5 moves", started_ms: 1, finished_ms: 2, over: { winner: 0, how: "board", reason: "" } };
    const running = { ...match, match: "n", room: "s", over: null, finished_ms: null, turn: 1 };
    const mine = { running: [running], finished: [match], waiting: [], rooms: [between] };
    const text = (waiting) => textOf(drawMine({ ...lobbyOf(), waiting }, GAMES, mine));
    const idle = text([]);
    assertEqual([idle.includes("Play again"), idle.includes("You won")], [true, false]);
    const offered = text([{ t: "notification", room: "r", what: "rematch", text: "Ben offers a rematch." }]);
    assertEqual(offered.indexOf("Offers a rematch") < offered.indexOf("Their turn"), true);
    assertEqual(text([{ t: "notification", room: "s", what: "draw", text: "" }]).includes("Offers a draw"), true);
});

test("what is open, waits or is offered is not offered again", () => {
    const match = { match: "m", room: "r", game: "chess", title: "Chess", seats: [ADA, BEN], plies: 9, length: "5 moves", started_ms: 1 };
    const between = room("b", "finished", [ADA, BEN]);
    const rematch = { t: "notification", room: "b", what: "rematch", text: "" };
    const is = (opponent, mine, model = {}) => isAlreadyThere({ game: "chess", opponent }, currentOf({ ...lobbyOf(), waiting: [], ...model }, mine));
    const none = { running: [], finished: [], waiting: [] };
    assertEqual([is("friend", null), is("friend", { ...none, running: [match] }), is("screen", { ...none, running: [match] })], [false, true, false]);
    assertEqual(is("friend", { ...none, waiting: [room("w", "open", [ADA, null])] }), true);
    const evening = { ...none, rooms: [between] };
    assertEqual([is("friend", evening), is("friend", evening, { waiting: [rematch] })], [false, true]);
    const others = [{ ...match, seats: [ADA, ADA] }, { ...match, seats: [ADA, AI] }].map((each) => ({ ...none, running: [each] }));
    assertEqual(others.map((mine) => ["friend", "screen", "ai"].map((opponent) => is(opponent, mine))), [[false, true, false], [false, false, false]]);
    assertEqual(isAlreadyThere({ game: "hex", opponent: "friend" }, [match]), false);
});

test("rooms and your matches name their clock and the time that is left, of now", () => {
    const times = { control: "300+3", left_ms: [200_000, 300_000], since_ms: 1000, running: 0 };
    const clocked = { clock: "300+3", speed: "blitz", times };
    const playing = { ...room("r", "playing", [BEN, AI]), ...clocked, length: "4 moves" };
    const at = (now_ms) => textOf(drawPublic(lobbyOf(playing), GAMES, () => {}, { ...ALL_TIMES, now_ms }));
    assertEqual(["5+3 · 4 moves", "3:20", "5:00"].every((text) => at(1000).includes(text)), true);
    assertEqual(at(61_000).includes("2:20"), true);
    const match = { match: "m", room: "q", game: "chess", title: "Chess", seats: [BEN, ADA], plies: 2, started_ms: 0, turn: 0, ...clocked };
    const mine = textOf(drawMine(lobbyOf(), GAMES, { running: [match], finished: [], waiting: [] }, 61_000));
    assertEqual(["against Ben · 5+3", "5:002:20", "Their turn"].every((text) => mine.includes(text)), true);
});

test("the rooms can be those of one class of time controls", () => {
    const rooms = [
        { ...room("a", "open", [BEN, null]), title: "Bullet chess", clock: "60", speed: "bullet" },
        { ...room("b", "open", [BEN, null]), title: "Slow chess" },
    ];
    const parent = document.createElement("div");
    const picked = [];
    const titles = (speed) => {
        render(parent, drawPublic(lobbyOf(...rooms), GAMES, () => {}, { ...ALL_TIMES, speed, pick: (value) => picked.push(value) }));
        return [...parent.querySelectorAll(".game")].map((title) => title.textContent);
    };
    assertEqual(["bullet", "untimed", "rapid"].map(titles), [["Bullet chess"], ["Slow chess"], []]);
    assertEqual(parent.querySelector(".empty").textContent, "No rapid room waits for a player.");
    const select = parent.querySelector("select");
    select.value = "blitz";
    select.dispatchEvent(new Event("change"));
    assertEqual(picked, ["blitz"]);
    assertEqual(textOf(drawPublic(lobbyOf(rooms[1]), GAMES, () => {}, ALL_TIMES)).includes("Bullet"), false);
});

test("the time control is part of the choices, which keep it", () => {
    localStorage.clear();
    const timed = { ...validChoices(CHESS, { game: "chess", opponent: "friend" }), clock: "300+3" };
    assertEqual([createCommand(timed, 0).clock, "clock" in createCommand(validChoices(CHESS), 0)], ["300+3", false]);
    keepChoices(timed);
    assertEqual(readChoices(GAMES)[0].clock, "300+3");
    assertEqual([describeChoices(CHESS, timed), validChoices(HEX, timed).clock], ["Chess with a friend, 5+3, White", "300+3"]);
    assertEqual(choicesThrough("easy", CHESS, { clock: "60" }).clock, "60");
});

test("the lobby is drawn again each second as long as a clock runs in its lists", () => {
    const times = { control: "300", left_ms: [200_000, 300_000], since_ms: 1000, running: 0 };
    const timed = { ...room("r", "playing", [BEN, AI]), clock: "300", speed: "blitz", times };
    const waitsWith = (clock) => {
        const app = { model: lobbyOf({ ...timed, times: clock }), session: { serverTime_ms: () => 1000 } };
        const page = new LobbyPage(app);
        render(document.body, page.draw());
        const waits = [];
        window.setTimeout = (_, ms) => waits.push(ms);
        page.afterDraw();
        return waits;
    };
    assertEqual([waitsWith(times), waitsWith({ ...times, running: null })], [[1000], []]);
});

test("with an unfinished match on this screen, Escape neither enters it nor starts another", async () => {
    localStorage.clear();
    const seats = [{ ...ADA, kind: "guest" }, { ...ADA, kind: "guest" }];
    const unfinished = { match: "m", room: "old", game: "chess", title: "Chess", seats, plies: 3, length: "3 moves", started_ms: 1, over: null };
    const answers = { "/api/games": { games: [CHESS] }, "/api/matches": { matches: [] }, "/api/lessons": { topics: [] } };
    window.fetch = async (path) => Response.json(Object.entries(answers).find(([start]) => path.startsWith(start))?.[1] ?? {});
    const sent = [];
    const visited = [];
    const app = {
        model: lobbyOf(),
        session: { serverTime_ms: () => 1000, watchLobby() {}, command: async (command) => (sent.push(command.t), { room: "new" }) },
        listMyMatches: async () => ({ running: [unfinished], waiting: [], finished: [] }),
        navigate: (path) => visited.push(path),
        // The question stands in the body: a page that arrives late and is drawn there would remove it.
        update: () => render(root, page.draw()),
        announce() {},
        toast() {},
    };
    const root = document.createElement("main");
    document.body.append(root);
    const page = new LobbyPage(app);
    const until = async (find) => {
        // The question's module comes over the network, which takes turns of the event loop.
        for (let i = 0; i < 5000 && !find(); i++) await new Promise((resolve) => setTimeout(resolve));
        return find();
    };
    const button = (text) => [...document.querySelectorAll("main button, main a")].find((each) => each.textContent.includes(text));
    page.start();
    page.onModelChange({ ...app.model, you: null });
    (await until(() => button("this screen"))).click();
    app.update();
    await until(() => document.querySelector("main .mine")); // before that the page knows of no match
    for (const [value, expected] of [["", [[], []]], ["on", [["/room/old"], []]], ["new", [["/room/old", "/room/new"], ["create"]]]]) {
        (await until(() => document.querySelector("main .games .name"))).click();
        const question = await until(() => document.querySelector("dialog.confirm"));
        if (!question) assertEqual([value, visited, sent], "a question");
        app.update(); // as when the lessons arrive now
        assert(question.isConnected, "a drawing of the page leaves the question");
        question.close(value);
        // Its event is a task of its own: before it the page takes no other click.
        await until(() => !document.querySelector("dialog.confirm"));
        await until(() => JSON.stringify([visited, sent]) === JSON.stringify(expected));
        for (let i = 0; i < 20; i++) await flushPromises();
        assertEqual([visited, sent], expected);
    }
    page.stop();
});
