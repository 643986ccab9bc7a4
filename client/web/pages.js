/**
 * The pages: the path of each, the module that the app loads when it is opened, its style sheets,
 * and what it requests at once. The server reads this table: it tells the browser early what a page
 * needs.
 *
 * @import {Route} from "./shell/router.js"
 */

/** @type {Route[]} */
export const PAGES = [
    [
        /^\/$/,
        async () => (await import("./pages/lobby/page.js")).LobbyPage,
        ["board/board.css", "ui/matches/matches.css", "pages/lobby/lobby.css"],
        ["/api/games"],
    ],
    [
        /^\/room\/([\w-]{1,24})$/,
        async () => (await import("./pages/room/page.js")).RoomPage,
        ["board/board.css", "ui/match.css"],
    ],
    [
        /^\/match\/([\w-]{1,24})$/,
        async () => (await import("./pages/replay/page.js")).ReplayPage,
        ["board/board.css", "board/arrows.css", "ui/match.css", "ui/thinking/panel.css", "pages/replay/replay.css"],
    ],
    [
        /^\/learn$/,
        async () => (await import("./pages/learn/page.js")).LearnPage,
        ["lesson/lesson.css", "pages/learn/learn.css"],
    ],
    [
        /^\/learn\/([\w-]{1,24})$/,
        async () => (await import("./pages/lesson/page.js")).LessonPage,
        [
            "glass/drawing/glass.css",
            "glass/viewer/viewer.css",
            "lesson/lesson.css",
            "pages/lesson/figure.css",
            "pages/lesson/lesson.css",
        ],
    ],
    [
        /^\/listings$/,
        async () => (await import("./pages/listings/page.js")).ListingsPage,
        ["lesson/lesson.css", "lesson/listing.css", "pages/listings/listings.css"],
    ],
    [
        /^\/replays$/,
        async () => (await import("./pages/replays/page.js")).ReplaysPage,
        ["ui/matches/matches.css"],
    ],
    [
        /^\/glass$/,
        async () => (await import("./pages/glass/page.js")).GlassPage,
        ["glass/drawing/glass.css", "glass/viewer/viewer.css", "pages/glass/page.css"],
    ],
];

/** The path of a room without its id. */
export const ROOM_PATH = "/room/";
