"""The command `python -m engine.teach`: docs/explanation/teaching.md is right; errors are clear."""

import contextlib
import io
import os
import pty
import re
import shlex
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import msgspec
import pytest

from engine.rules.registry import game_ids
from engine.teach.__main__ import main
from engine.teach.algorithms.explain import ALGORITHMS, FORMS
from engine.teach.lessons.catalogue import LESSONS
from engine.teach.options import make_parser, make_task
from engine.teach.states.tree import decode_tree
from engine.teach.trace import Nodes, Skipped, Steps, Trace
from tests.engine.teach.test_founding_numbers import TRANSCRIPT

#: The root of the repository.
ROOT = Path(__file__).parents[3]
#: The text of the page that explains the command.
PAGE = (ROOT / "docs/explanation/teaching.md").read_text("utf-8")
#: The text of the page that shows how to use the command.
GUIDE = (ROOT / "docs/how-to/teaching.md").read_text("utf-8")
#: The arguments of the commands on the page.
COMMANDS = re.findall(r"^    python -m engine\.teach (.*)$", PAGE, re.MULTILINE)
#: The arguments of the commands in the guide.
GUIDE_COMMANDS = re.findall(r"^    plyroom teach ?(.*)$", GUIDE, re.MULTILINE)
#: The trees of the page.
TREES = re.findall(r"```tree\n(.*?)```", PAGE, re.DOTALL)
#: The captured output of a test.
Output = pytest.CaptureFixture[str]
#: A tree with the value 3.
TREE = "max(A: min(3, 12), B: min(2, 40))"


@pytest.mark.parametrize(
    "command", [command for command in (*COMMANDS, *GUIDE_COMMANDS) if command != "--help"]
)
def test_commands_of_the_pages(
    command: str, tmp_path: Path, capsys: Output, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each command of the pages prints at most 80 columns and no error."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "stdin", io.StringIO(""))
    Path("mine.txt").write_text(TREE)
    assert main(shlex.split(command)) == 0
    out, err = capsys.readouterr()
    assert err == ""
    assert len(out) > 30
    if "--json" not in command:
        assert max(map(len, out.splitlines())) <= 80
    if "--svg" in command:
        assert ElementTree.parse(command.split()[-1]).getroot().tag.endswith("svg")


def test_the_page_is_complete() -> None:
    """The page names all algorithms, forms and columns, and its JSON tree is valid."""
    for name in (
        *ALGORITHMS,
        *FORMS,
        *Nodes.__struct_fields__,
        *Skipped.__struct_fields__,
        *Steps.__struct_fields__,
    ):
        assert f"`{name}`" in PAGE, name
    (json,) = re.findall(r"```json\n(.*?)```", PAGE, re.DOTALL)
    decode_tree(json.encode())


@pytest.mark.parametrize("text", TREES)
def test_the_trees_of_the_page_work_as_printed(text: str, tmp_path: Path, capsys: Output) -> None:
    """Each tree of the page is searched without further options; with estimates, to any depth."""
    assert len(TREES) == 4
    file = tmp_path / "tree.txt"
    file.write_text(text)
    for depth in ("end", "1") if "~" in text or "[" in text else ("end",):
        assert main(["--tree", str(file), "--depth", depth]) == 0
        out, err = capsys.readouterr()
        assert (err, "value: " in out) == ("", True)


def test_the_graph_of_the_page(tmp_path: Path, capsys: Output) -> None:
    """The graph of the page has seven states and a tree of thirteen nodes, as the page says."""
    (text,) = re.findall(r"```graph\n(.*?)```", PAGE, re.DOTALL)
    file = tmp_path / "graph.txt"
    file.write_text(text)
    assert main(["--graph", str(file), "--states"]) == 0
    out = capsys.readouterr().out
    assert "7 states, 3 of them final" in out
    assert "visits 13 nodes, 9 of them leaves" in out
    assert main(["--graph", str(file), "--form", "table"]) == 0
    assert "value: -1" in capsys.readouterr().out


def test_the_logs_of_the_page(capsys: Output) -> None:
    """The tree and the log that the page explains are parts of the output of lessons."""
    for kind, command in (("log", "sticks --log steps"), ("drawing", "four-level-tree")):
        (log,) = re.findall(rf"```{kind}\n(.*?)```", PAGE, re.DOTALL)
        assert main(command.split()) == 0
        assert log in capsys.readouterr().out


def test_without_arguments(capsys: Output) -> None:
    """Without arguments the command lists the lessons by topic on one screen."""
    assert main([]) == 0
    out = capsys.readouterr().out
    assert len(out.splitlines()) <= 23
    assert set(re.findall(r"[\w-]+", out)) >= set(LESSONS)


def test_an_exercise_sheet(tmp_path: Path, capsys: Output) -> None:
    """--log leaves prints the whole tree with its leaves, and no value, cut or result."""
    file = tmp_path / "mine.txt"
    file.write_text(TREE)
    for command in (["--tree", str(file)], ["every-leaf"]):
        assert main([*command, "--log", "leaves"]) == 0
        out = capsys.readouterr().out
        assert out.count("= ?") == 3
        assert not any(word in out for word in ("cut", "value", "plays", "window", "searched"))
    assert "  R MIN = ?: R1 = 3, R2 = 10\n" in out


def test_a_classic_log_has_fresh_windows(tmp_path: Path, capsys: Output) -> None:
    """In a classic log each move of the root has a fresh window, also in a tree, by default."""
    tree = tmp_path / "tree.txt"
    tree.write_text("max(min(5, 6), min(3, 4))")
    fresh_windows = []
    for words in ([], ["--window", "inherited"]):
        assert main(["--tree", str(tree), "--log", "classic", *words]) == 0
        fresh_windows.append(capsys.readouterr().out.count("A = -2147483648"))
    assert fresh_windows == [4, 2]


def play_first_program(monkeypatch: pytest.MonkeyPatch, answers: str, *arguments: str) -> int:
    """Runs the first program with these lines as its input."""
    monkeypatch.setattr("sys.stdin", io.StringIO(answers))
    return main(["--classic", *arguments])


def test_the_first_program(monkeypatch: pytest.MonkeyPatch, capsys: Output) -> None:
    """`--classic` with answers from a pipe, and `--match`, are the printed game."""
    assert play_first_program(monkeypatch, "Dave\n3\n3\n") == 0
    assert capsys.readouterr().out == TRANSCRIPT
    assert main(["--match", "3x3"]) == 0
    assert capsys.readouterr().out == TRANSCRIPT


#: Answers that the first program refuses, after a name, and what it expected.
REFUSED = [
    ("4", "a row with sticks is expected, 1 or 2 or 3, not '4'"),
    ("", "a row with sticks is expected"),
    ("\u0663", "a row with sticks is expected"),
    ("2\n3", "of row 2 you may take 1 or 2, not '3'"),
    ("3\n-1", "of row 3 you may take 1 or 2 or 3, not '-1'"),
]


@pytest.mark.parametrize(("answers", "reason"), REFUSED)
def test_the_first_program_asks_again(
    monkeypatch: pytest.MonkeyPatch, capsys: Output, answers: str, reason: str
) -> None:
    """An answer that is not possible is refused with what was expected; the game goes on."""
    assert play_first_program(monkeypatch, f"\n\x1b\nDave\n{answers}\n3\n3\n") == 0
    out = capsys.readouterr().out
    assert out.count("a name has 1 to 40 characters") == 2
    assert out.count(f"({reason}") == 1
    assert out.endswith(TRANSCRIPT[-60:])


def test_the_first_program_of_other_games(monkeypatch: pytest.MonkeyPatch, capsys: Output) -> None:
    """Any game is played with one prompt for the move; a person can win, and a game be drawn."""
    game = ("--game", "tic-tac-toe", "--position")
    assert play_first_program(monkeypatch, "Ada\nz9\nc1\n", *game, "XX.OO....") == 0
    out = capsys.readouterr().out
    assert "(there is no z9 on this board)" in out
    assert out.splitlines()[-1] == "<< Ada >> is the WINNER !!!!"
    assert play_first_program(monkeypatch, "Ada\nc3\n", *game, "XOXXOOOX.") == 0
    assert capsys.readouterr().out.splitlines()[-1] == "It is a DRAW !!!!"


def test_the_first_program_without_a_person(
    monkeypatch: pytest.MonkeyPatch, capsys: Output, tmp_path: Path
) -> None:
    """An input that ends is an error, as is a tree in place of a game."""
    assert play_first_program(monkeypatch, "Dave\n3\n") == 2
    assert "the input ended before the game was over" in capsys.readouterr().err
    tree = tmp_path / "tree.txt"
    tree.write_text(TREE)
    for words in (["--classic"], ["--match", "a"]):
        assert main(["--tree", str(tree), *words]) == 2
        assert f"{words[0]} goes with --game, not with a tree" in capsys.readouterr().err
    assert main(["--match", "3x3,1x1"]) == 2
    assert "the game is over before 1x1" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "plan"),
    [
        ([], ("fail-hard", True)),
        (["--algorithm", "minimax"], ("minimax", True)),
        (["--window", "inherited"], ("fail-hard", False)),
    ],
)
def test_the_search_of_a_classic_log(words: list[str], plan: tuple[str, bool]) -> None:
    """A classic log is that of fail-hard with fresh windows, unless others are chosen."""
    options = make_parser("").parse_args(["--game", "sticks", "--log", "classic", *words])
    task = make_task(options)
    assert (task.plan.algorithm, task.plan.fresh) == plan


@pytest.mark.parametrize("lesson", LESSONS)
def test_lessons_as_json(lesson: str, capsys: Output) -> None:
    """With --json a lesson prints a list of traces that can be decoded."""
    assert main([lesson, "--json"]) == 0
    assert msgspec.json.decode(capsys.readouterr().out, type=list[Trace])


def test_list(capsys: Output) -> None:
    """--list names every lesson, game, algorithm and form."""
    assert main(["--list"]) == 0
    words = capsys.readouterr().out.split()
    assert set(words) >= {*LESSONS, *game_ids(), *ALGORITHMS, *FORMS, "estimate", "reversed"}


def test_trees_from_files(tmp_path: Path, capsys: Output, monkeypatch: pytest.MonkeyPatch) -> None:
    """A tree is read from a text file, from a JSON file, and from standard input."""
    text, json = tmp_path / "tree.txt", tmp_path / "tree.json"
    text.write_text(TREE)
    json.write_text('{"title": "Mine", "root": {"kind": "max", "children": [1, 7]}}')
    assert main(["--tree", str(text), "--json"]) == 0
    trace = msgspec.json.decode(capsys.readouterr().out, type=Trace)
    assert (trace.title, trace.value, trace.line) == ("tree.txt", 3, ("A", "1"))
    assert main(["--tree", str(json)]) == 0
    assert capsys.readouterr().out.startswith("Mine\n")
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(TREE.encode())))
    assert main(["--tree", "-", "--summary"]) == 0
    assert "value: 3" in capsys.readouterr().out
    text.write_text("p1(<1, 5>, p2(<2, 0>, <0, 4>))")
    assert main(["--tree", str(text)]) == 0
    out = capsys.readouterr().out
    assert "minimax, to the end" in out
    assert "value: <1, 5>" in out


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32", "cp1252"])
def test_trees_of_any_text_editor(encoding: str, tmp_path: Path, capsys: Output) -> None:
    """Lists, text and JSON are read in any encoding; stderr says how the lists were read."""
    file = tmp_path / "tree.txt"
    for text, note in (
        ("# à Noël\r\n((3 5) (2 9))", "teach: the lists are read as max(min(3, 5), min(2, 9))\n"),
        ("# à Noël\r\nMAX(Min(3, 5), Min(2, 9))", ""),
        ('{"title": "Noël", "root": {"kind": "max", "children": [1, 3]}}', ""),
    ):
        file.write_bytes(text.encode(encoding))
        assert main(["--tree", str(file), "--summary"]) == 0
        printed = capsys.readouterr()
        assert "value: 3" in printed.out
        assert printed.err == note


def test_the_moves_of_a_match_are_read_as_people_write_them(capsys: Output) -> None:
    """`--match` takes what a terminal takes."""
    printed = []
    for move in ("3x2", "3 2", "3X2!"):
        assert main(["--game", "sticks", "--match", move, "--depth", "2"]) == 0
        printed.append(capsys.readouterr().out)
    assert printed[0] == printed[1] == printed[2]


#: The expected part of the message by arguments.
WRONG = {
    "--depth 2": "give exactly one of a lesson, --game, --tree and --graph",
    "chess-lesson": "there is no lesson 'chess-lesson'; there are what-is-minimax",
    "sticks --depth 2": "a lesson has its own search options: --depth goes with",
    "sticks --game sticks": "exactly one of",
    "--game tic-tac-two": "there is no game 'tic-tac-two'; there are",
    "--game tic-tac-toe --position XX": "not a position of Tic-tac-toe",
    "--game tic-tac-toe --option rows=3": "has no option 'rows'",
    "--game sticks --option rows=x": "rows are",
    "--game sticks --depth deep": "a depth is a number of plies, or end",
    "--game sticks --depth -1": "a depth is a number of plies",
    "--game sticks --depth 1000": "a depth is 0 to 64",
    "--game sticks --algorithm fast": "there is no algorithm 'fast'",
    "--game sticks --form round": "there is no form 'round'",
    "--game sticks --order any": "there is no order 'any'",
    "--game sticks --evaluator gut": "there is no evaluator 'gut'",
    "--game sticks --lose 5 --win 3": "must not decrease",
    "--game sticks --win 5000000000": "lie within",
    "--game sticks --max-nodes 0": "at least 1",
    "--game sticks --win many": "a utility is a number, inf or -inf",
    "--game sticks --cut-off soon": "there is no cut-off 'soon'; there are depth, quiet, never",
    "--game sticks --player 3": "the players are 1 to 2, not 3",
    "--game sticks --match 3x3,1x1": "the game is over before 1x1",
    "--game sticks --compare minimax fast": "there is no algorithm 'fast'",
    "--game sticks --utilities 1,0/1,0": "a win, a draw and a loss for each player",
    "--game sticks --utilities 1,0,-1/1,x,0": "a utility is a number, inf or -inf, not 'x'",
    "--game sticks --match 3": "3 can be any of: 3x1, 3x2, 3x3",
    "--tree TREE --match 1": "--match goes with --game",
    "sticks --match 3x3": "a lesson has its own search options: --match",
    "--game connect-four --depth 4 --max-nodes 100": "more than 100 nodes",
    "--game connect-four --depth 9 --max-nodes 500": "--depth 3 takes about 400",
    "--tree /nowhere/tree.txt": "cannot be read: No such file",
    "--tree TREE --win 3": "goes with --game",
    "--tree TREE --depth 1": "the node A has no estimate",
    "--tree BAD": "line 1, column 5",
    "--tree BINARY": "it is not the text in UTF-16 that it says",
    "--tree PICTURE": "it is not a text file",
    "--tree JSON": "not a tree",
    "--graph TREE": "this is a tree: use --tree",
    "--tree GRAPH": "this is a graph, whose states have names: use --graph",
    "--graph GRAPH": "a -> b -> a is a cycle; give a --depth",
    "--graph GRAPH --position x": "--position goes with --game",
    "every-leaf --states": "a lesson has its own search options: --states",
    "every-leaf --svg /nowhere/x.svg": "/nowhere/x.svg cannot be written: No such file",
    "every-leaf --step --quiz": "--quiz and --step do not go together",
    "--game connect-four --depth 7 --svg x.svg": "a picture has at most 1,500 nodes",
    "--game chess --depth 9": "--depth 4 takes about 2",
    "--game connect-four --depth 9 --states": "there are more than 20,000 states",
}


@pytest.mark.parametrize("command", WRONG)
def test_wrong_commands(command: str, tmp_path: Path, capsys: Output) -> None:
    """A wrong command prints one line on stderr, nothing on stdout, and exits with code 2."""
    files = {
        "TREE": TREE.encode(),
        "BAD": b"max(?)",
        "BINARY": b"\xff\xfe\x00",
        "PICTURE": b"\x89PNG\r\n\x1a\n\x00\x00",
        "JSON": b'{"root": 3}',
        "GRAPH": b"a: max(b, 1) b: min(a, 2)",
    }
    words = shlex.split(command)
    for name, content in files.items():
        (tmp_path / name).write_bytes(content)
        words = [str(tmp_path / name) if word == name else word for word in words]
    assert main(words) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("teach: ")
    assert WRONG[command] in err
    assert err.count("\n") == 1


def test_unknown_options_and_help(capsys: Output) -> None:
    """An unknown option exits with code 2; --help names every option of the page."""
    with pytest.raises(SystemExit) as ended:
        main(["--colour", "red"])
    assert ended.value.code == 2
    with pytest.raises(SystemExit) as ended:
        main(["--help"])
    assert ended.value.code == 0
    help_text = capsys.readouterr().out
    commands = (*COMMANDS, *GUIDE_COMMANDS)
    used = {word for command in commands for word in command.split() if word.startswith("--")}
    assert {option for option in used if option not in help_text} == set()


def test_as_a_process() -> None:
    """`python -m engine.teach` prints a lesson, and exits silently if its output is closed."""
    command = [sys.executable, "-m", "engine.teach"]
    completed = subprocess.run(
        [*command, "alpha-cut"], cwd=ROOT, capture_output=True, text=True, timeout=60
    )
    assert (completed.returncode, completed.stderr) == (0, "")
    assert completed.stdout.startswith("Alpha cut\n=========\n")
    large = [*command, "--game", "connect-four", "--depth", "4"]
    with subprocess.Popen(
        large, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.readline()
        process.stdout.close()
        assert process.wait(60) == 0
        assert process.stderr.read() == b""


class Terminal(io.TextIOWrapper):
    """A terminal that keeps what it is sent."""

    def isatty(self) -> bool:
        return True


def on_terminal() -> str:
    """Returns what a lesson prints on a terminal."""
    reader, writer = pty.openpty()
    with subprocess.Popen(
        [sys.executable, "-m", "client", "teach", "alpha-cut"],
        cwd=ROOT,
        stdout=writer,
        env={**os.environ, "TERM": "xterm", "PYTHONIOENCODING": "utf-8", "NO_COLOR": ""},
    ) as process:
        os.close(writer)
        parts = []
        # The end of a terminal is an error on Linux, an empty read elsewhere.
        with contextlib.suppress(OSError):
            while part := os.read(reader, 65536):
                parts.append(part)
        assert process.wait(60) == 0
    os.close(reader)
    return b"".join(parts).decode()


def test_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """`plyroom teach` prints guide lines and colours on a terminal; NO_COLOR leaves the lines."""
    text = on_terminal()
    assert "\033[2m└─ \033[0m" in text
    assert "\033[35mMIN\033[0m" in text
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("NO_COLOR", "1")
    for encoding, line in (("utf-8", "└─ C2 <= 15"), ("ascii", "C2 <= 15")):
        printed = io.BytesIO()
        monkeypatch.setattr(sys, "stdout", Terminal(printed, encoding))
        assert main(["alpha-cut"]) == 0
        sys.stdout.flush()
        assert line in printed.getvalue().decode()
        assert b"\033" not in printed.getvalue()
