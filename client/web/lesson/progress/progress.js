/**
 * What this browser has answered of the lessons' questions. It is stored here only; the server does
 * not know it. The list of lessons shows it too; this folder is a file of its own on the line, so that
 * the list loads no lesson's searches.
 */

/** How a question was answered: at once, after its hint, or not. @typedef {"right" | "hinted" | "wrong"} Outcome */
/**
 * The answers of a lesson by question, the number of its questions, and whether its exercise is
 * solved.
 * @typedef {{answers: Record<string, Outcome>, count: number, isSolved?: boolean}} LessonProgress
 */

/** The key in the browser's storage. */
const KEY = "lessons";

/** @returns {Record<string, LessonProgress>} */
function readAll() {
    try {
        const stored = JSON.parse(localStorage.getItem(KEY) ?? "{}");
        return stored !== null && typeof stored === "object" ? stored : {};
    } catch {
        return {};
    }
}

/**
 * The progress of a lesson.
 * @param {string} lesson
 * @returns {LessonProgress}
 */
export function lessonProgress(lesson) {
    const stored = readAll()[lesson];
    const answers = stored?.answers;
    return {
        answers: answers !== null && typeof answers === "object" ? answers : {},
        count: Number(stored?.count) || 0,
        isSolved: stored?.isSolved === true,
    };
}

/**
 * Stores the progress of a lesson. Without storage it lasts as long as the page.
 * @param {string} lesson
 * @param {LessonProgress} progress
 */
export function storeProgress(lesson, progress) {
    try {
        localStorage.setItem(KEY, JSON.stringify({ ...readAll(), [lesson]: progress }));
    } catch {
        // The page keeps its own copy.
    }
}

/**
 * The number of right answers, those after a hint included.
 * @param {LessonProgress} progress
 */
export function rightCount({ answers }) {
    return Object.values(answers).filter((outcome) => outcome !== "wrong").length;
}

/**
 * The progress in words, or "" before the first answer: "2 right so far", then "4 of 6 right, 1 with a hint".
 * @param {LessonProgress} progress
 */
export function progressText(progress) {
    const outcomes = Object.values(progress.answers);
    if (outcomes.length === 0) return "";
    const hinted = outcomes.filter((outcome) => outcome === "hinted").length;
    const right = rightCount(progress);
    return `${outcomes.length < progress.count ? `${right} right so far` : `${right} of ${progress.count} right`}${hinted > 0 ? `, ${hinted} with a hint` : ""}`;
}
