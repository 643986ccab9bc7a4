"""The compiler and its code cache: damaged files are replaced, edited rules are compiled again, and
no writable home folder is needed.
"""

import itertools
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Protocol

import numpy as np
import pytest

from engine import warm
from engine.compiler import code_cache
from engine.compiler.intrinsics import Memory
from engine.compiler.native import CACHE, compile_game
from engine.game import Game, GameFault
from engine.games import tic_tac_toe
from engine.rules.registry import load_game
from engine.search import expectimax

#: The root of the repository.
ROOT = Path(__file__).parents[2]
#: The rules of tic-tac-toe under the name "planted".
SOURCE = Path(tic_tac_toe.__file__).read_text("utf-8").replace('"tic-tac-toe"', '"planted"')
#: A program that compiles one function; it follows IMPORTS.
SMALL_PROGRAM = (
    "game = load_game('tic-tac-toe'); native = compile_game(game); "
    "print(native.function('rule_status')((7, 0)))"
)
#: The imports for SMALL_PROGRAM.
IMPORTS = (
    "from engine.rules.registry import load_game; "
    "from engine.compiler.native import CACHE, compile_game; "
)


#: Forks a process for each program in a line of its input, and answers with their exit codes. It
#: has used numba: each new process would take a second of processor time to begin to.
FORKING_PROGRAM = """
import gc, json, os, sys, traceback
import numba

gc.disable()
numba.njit("u8(UniTuple(u8, 2))")(lambda words: words[0] & words[1])

def fork(code, arguments, environ, files):
    pid = os.fork()
    if pid == 0:
        os.environ.clear()
        os.environ.update(environ)
        sys.path[:0] = environ["PYTHONPATH"].split(os.pathsep)
        sys.argv[1:] = arguments
        for stream, file in enumerate(files, 1):
            os.dup2(os.open(file, os.O_WRONLY | os.O_CREAT), stream)
        try:
            exec(code, {})
        except BaseException:
            traceback.print_exc()
            os._exit(1)
        sys.stdout.flush()
        os._exit(0)
    return pid

for line in sys.stdin:
    pids = [fork(*program) for program in json.loads(line)]
    codes = [os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in pids]
    print(json.dumps(codes), flush=True)
"""


class Run(Protocol):
    """Runs code in `count` processes at once, with arguments and additional variables."""

    def __call__(
        self, code: str, *arguments: str, count: int = 1, **environment: str
    ) -> list[subprocess.CompletedProcess[str]]: ...


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Run]:
    """Returns a function that runs code in processes that have not yet imported the engine."""
    folder = tmp_path_factory.mktemp("printed")
    inherited = {
        name: value
        for name, value in os.environ.items()
        if name not in ("PLYROOM_CACHE", "NUMBA_CACHE_DIR")
    }
    numbers = itertools.count()
    with subprocess.Popen(
        [sys.executable, "-c", FORKING_PROGRAM],
        cwd=ROOT,
        env=inherited,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as forking:
        assert forking.stdin is not None
        assert forking.stdout is not None
        requests, answers = forking.stdin, forking.stdout

        def run_forked(
            code: str, *arguments: str, count: int = 1, **environment: str
        ) -> list[subprocess.CompletedProcess[str]]:
            environ = {**inherited, "PYTHONPATH": str(ROOT), **environment}
            files = [[folder / f"{next(numbers)}" for _ in ("out", "error")] for _ in range(count)]
            programs = [(code, arguments, environ, [*map(str, pair)]) for pair in files]
            print(json.dumps(programs), file=requests, flush=True)
            return [
                subprocess.CompletedProcess(code, exit_code, out.read_text(), error.read_text())
                for exit_code, (out, error) in zip(
                    json.loads(answers.readline()), files, strict=True
                )
            ]

        yield run_forked


def files_of(folder: Path) -> list[Path]:
    return sorted(folder.rglob("*.nb[ci]"))


@pytest.fixture(scope="module")
def small_cache(tmp_path_factory: pytest.TempPathFactory, run: Run) -> Path:
    """Returns a code cache with one function, which a process has compiled."""
    cache = tmp_path_factory.mktemp("cache") / "code"
    (completed,) = run(IMPORTS + SMALL_PROGRAM, PLYROOM_CACHE=str(cache))
    assert (completed.returncode, completed.stdout) == (0, "0\n"), completed.stderr
    return cache


def test_a_second_process_loads_from_the_cache(small_cache: Path, run: Run) -> None:
    """A second process loads the code that the first one compiled; the folder is private."""
    modified_ns = {path: path.stat().st_mtime_ns for path in files_of(small_cache)}
    assert modified_ns
    (completed,) = run(IMPORTS + SMALL_PROGRAM, PLYROOM_CACHE=str(small_cache))
    assert (completed.returncode, completed.stdout) == (0, "0\n"), completed.stderr
    assert modified_ns == {path: path.stat().st_mtime_ns for path in files_of(small_cache)}, (
        "the second process writes no file"
    )
    assert small_cache.stat().st_mode & 0o777 == 0o700


#: The damages that only `make test-long` tries: `test_any_damage_is_detected` finds them too.
MORE_DAMAGES = ["truncated", "empty", "index", "sums"]


@pytest.mark.parametrize(
    "damage",
    ["one bit", "no sums", *(pytest.param(name, marks=pytest.mark.long) for name in MORE_DAMAGES)],
)
def test_damaged_code_is_compiled_again(
    tmp_path: Path, small_cache: Path, run: Run, damage: str
) -> None:
    """Code that is damaged, or whose checksums are, is discarded and compiled again."""
    cache = tmp_path / "code"
    shutil.copytree(small_cache, cache)
    code = max(cache.rglob("*.nbc"), key=lambda path: path.stat().st_size)
    index = next(cache.rglob("*.nbi"))
    sums = next(cache.rglob("*.sums"))
    content = code.read_bytes()
    match damage:
        case "truncated":
            code.write_bytes(content[: len(content) // 2])
        case "one bit":
            code.write_bytes(content[:-100] + bytes([content[-100] ^ 1]) + content[-99:])
        case "empty":
            code.write_bytes(b"")
        case "index":
            index.write_bytes(b"nonsense")
        case "sums":
            sums.write_text("nonsense")
        case "no sums":
            sums.unlink()
    (completed,) = run(IMPORTS + SMALL_PROGRAM, PLYROOM_CACHE=str(cache))
    assert (completed.returncode, completed.stdout) == (0, "0\n"), completed.stderr
    assert code.stat().st_size == pytest.approx(len(content), rel=0.01)
    assert next(cache.rglob("*.sums")).read_text().startswith("{")


def test_any_damage_is_detected(tmp_path: Path, small_cache: Path) -> None:
    """A file that is truncated or empty, or has one flipped bit, is discarded and never loaded."""
    (intact,) = small_cache.glob("code-*")
    tag = next(intact.glob("*.sums")).name.removesuffix(".sums")
    assert not code_cache.discard_damaged(intact, tag)
    names = [path.relative_to(intact) for path in [*files_of(intact), *intact.glob("*.sums")]]
    assert {name.suffix for name in names} == {".nbi", ".nbc", ".sums"}
    for name in names:
        content = (intact / name).read_bytes()
        end = content.index(b'"floats"') if name.suffix == ".sums" else len(content)
        flips = [(at, 1 << at % 7) for at in range(0, end, max(1, end // 20))]
        damaged = [content[: end // 2], content[: end - 1], b""]
        damaged += [
            content[:at] + bytes([content[at] ^ bit]) + content[at + 1 :] for at, bit in flips
        ]
        for number, wrong in enumerate(damaged):
            cache = tmp_path / f"{name.suffix}-{number}"
            shutil.copytree(intact, cache)
            (cache / name).write_bytes(wrong)
            assert code_cache.discard_damaged(cache, tag), (name, number)
            assert files_of(cache) == []


def test_a_cache_that_is_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A PLYROOM_CACHE that names a file is ignored, and the file stays unchanged."""
    file = tmp_path / "file"
    file.write_text("another user's")
    monkeypatch.setenv("PLYROOM_CACHE", str(file))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    folder = code_cache.cache_folder()
    assert folder.parent == tmp_path
    assert folder != file
    assert file.read_text() == "another user's"


def test_a_home_that_cannot_be_written(tmp_path: Path, run: Run) -> None:
    """Without a writable home the code goes to a private temporary folder.

    All processes of a user share the folder.
    """
    not_a_folder = tmp_path / "file"
    not_a_folder.write_text("")
    scratch = tmp_path / "tmp"
    scratch.mkdir()
    folders = []
    for _ in range(2):
        code = "from engine.compiler.code_cache import cache_folder; print(cache_folder())"
        (completed,) = run(code, HOME=str(not_a_folder), XDG_CACHE_HOME="", TMPDIR=str(scratch))
        assert completed.returncode == 0, completed.stderr
        folders.append(Path(completed.stdout.split()[-1]))
    assert folders[0] == folders[1]
    assert folders[0].parent == scratch
    assert folders[0].stat().st_mode & 0o777 == 0o700


def test_a_folder_of_another_user_is_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The cache folder must belong to the user and must not be a symbolic link."""
    their_folder = tmp_path / "theirs"
    their_folder.mkdir()
    link = tmp_path / "link"
    link.symlink_to(their_folder)
    monkeypatch.setenv("PLYROOM_CACHE", str(link))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    assert code_cache.cache_folder() not in (link, their_folder)
    monkeypatch.setenv("PLYROOM_CACHE", str(their_folder))
    assert code_cache.cache_folder() == their_folder
    assert their_folder.stat().st_mode & 0o777 == 0o700


def test_an_edited_game_is_compiled_again(plug_in: Callable[[str, str], Path]) -> None:
    """Edited rules are compiled again, and undoing the edit restores the digest and the score. The
    edit has a nested function with a variable of the outer one, which is inlined.
    """
    nested = "n = lsb(s[0] | ONE)\n    def plus(m):\n        return n + m\n    return plus(17)\n"
    edits = (SOURCE, SOURCE.replace("return 0\n", nested), SOURCE)
    scores = []
    digests = []
    for source in edits:
        plug_in("planted", source)
        game = load_game("planted")
        native = compile_game(game)
        scores.append(native.function("rule_evaluate")((0, 0), native.data))
        digests.append(game.digest)
    assert scores == [0, 17, 0]
    assert digests[0] == digests[2] != digests[1]


def test_old_versions_are_pruned(tmp_path: Path) -> None:
    """Pruning a game keeps its latest versions, the one in use, and all other games."""
    (tmp_path / "m").mkdir()
    names = [f"planted.{number:016x}n0" for number in range(6)] + ["planted-two.0n0"]
    for age, name in enumerate(names):
        code = tmp_path / "m" / f"kernel.alpha_beta.{name}-1.py311.1.nbc"
        code.write_text(name)
        code_cache.seal(tmp_path, name)
        os.utime(tmp_path / f"{name}.sums", (1000 + age, 1000 + age))
    code_cache.prune(tmp_path, "planted", names[0])
    remaining = {name for name in names if code_cache.code_files(tmp_path, name)}
    assert remaining == {names[0], names[4], names[5], "planted-two.0n0"}
    assert {path.name.removesuffix(".sums") for path in tmp_path.glob("*.sums")} == remaining


def test_unused_installations_are_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A new installation removes the folders that nothing has used for UNUSED_DAYS, no others."""
    monkeypatch.setenv("PLYROOM_CACHE", str(tmp_path))
    own = code_cache.code_folder()
    day_s, now_s = 86_400, (own / code_cache.DESCRIPTION).stat().st_mtime
    for name, age_days in (("code-old", 61), ("code-used", 59), ("other", 400)):
        (tmp_path / name).mkdir()
        description = tmp_path / name / code_cache.DESCRIPTION
        description.write_text("{}")
        os.utime(description, (now_s - age_days * day_s,) * 2)
    os.utime(own / code_cache.DESCRIPTION, (now_s - 61 * day_s,) * 2)
    code_cache.mark_used(own)
    assert (own / code_cache.DESCRIPTION).stat().st_mtime > now_s - day_s
    code_cache.remove_unused(tmp_path, own)
    assert {path.name for path in tmp_path.iterdir()} == {own.name, "code-used", "other"}


@pytest.mark.parametrize("name", ["engine", "python", "numba", "processor"])
def test_another_installation_has_its_own_folder(name: str) -> None:
    """Code is shared only by installations that are alike in all that numba's files depend on."""
    installation = code_cache.installation()
    changed = {**installation, name: f"{installation[name]} other"}
    assert code_cache.installation_id(changed) != code_cache.installation_id(installation)


def test_code_that_numba_does_not_find_is_not_compiled_by_a_loader(
    tmp_path: Path, small_cache: Path, run: Run
) -> None:
    """A process that may only load raises NotCached, though the seal says that all is there.

    The sealed code is that of another source path, as in a cache that another checkout has filled.
    """
    program = (
        "import sys; from engine.compiler import code_cache; from engine.compiler.native import *;"
        "from engine.rules.registry import load_game; game = load_game('tic-tac-toe');"
        "native = compile_game(game)\n"
        "with code_cache.with_access(code_cache.Access[sys.argv[1]]):\n"
        "    try:\n"
        "        print(native.function('rule_status')((7, 0)))\n"
        "    except code_cache.NotCached as error:\n"
        "        print('not cached', 'numba' in str(error))\n"
    )

    def output(access: str) -> str:
        (completed,) = run(program, access, PLYROOM_CACHE=str(tmp_path / "code"))
        return completed.stdout.strip()

    assert output("LOAD") == "not cached False", "nothing is sealed"
    shutil.rmtree(tmp_path / "code")
    shutil.copytree(small_cache, tmp_path / "code")
    assert output("LOAD") == "0"
    (folder,) = (tmp_path / "code").glob("code-*")
    (compiled,) = {path.parent for path in files_of(folder)}
    compiled.rename(folder / "elsewhere")
    (sums,) = folder.glob("*.sums")
    sums.write_text(sums.read_text().replace(f"{compiled.name}/", "elsewhere/"))
    assert output("LOAD") == "not cached True"


def test_rules_that_do_not_compile(plug_in: Callable[[str, str], Path]) -> None:
    """The error for rules that run uncompiled but do not compile names the game."""
    plug_in("planted", SOURCE.replace("    return 0\n", "    return {}.get(s[0], 0)\n"))
    game = load_game("planted")
    assert game.start().moves(), "the rules work uncompiled"
    with pytest.raises(GameFault, match="planted do not compile"):
        compile_game(game).function("rule_evaluate")


#: An evaluation by a recursive rule.
RECURSIVE = """
@rule("i8(state, i8)")
def count(s: State, n: int) -> int:
    if n == 0:
        return 0
    return 1 + count(s, n - 1)


@rule
def evaluate(s: State, data: Any) -> int:
    return count(s, 3) + count(s, np.int64(s[0] & U(3)))
"""


def test_two_processes_compile_a_game_once(tmp_path: Path, run: Run) -> None:
    """Two processes that need the same game at once both get its code, and store it once.

    Its rules are recursive: a recursive rule with its signature works where it was compiled and
    from the cache (numba issue 6061).
    """
    (tmp_path / "recursive.py").write_text(
        SOURCE.replace(
            "@rule\ndef evaluate(s: State, data: Any) -> int:\n    return 0\n", RECURSIVE
        )
    )
    code = (
        "import recursive; from engine.game import Game;"
        "from engine.rules.digest import rules_digest;"
        "from engine.compiler.native import compile_game;"
        "native = compile_game(Game(recursive, rules_digest(recursive)));"
        "print(native.function('rule_evaluate')((7, 0), native.data))"
    )
    completed = run(
        code,
        count=2,
        PLYROOM_CACHE=str(tmp_path / "code"),
        PYTHONPATH=f"{ROOT}{os.pathsep}{tmp_path}",
    )
    assert [one.stdout for one in completed] == ["6\n", "6\n"], completed
    assert len(list((tmp_path / "code").rglob("*rule_evaluate*.nbc"))) == 1


def test_recursion_without_a_signature_is_refused(plug_in: Callable[[str, str], Path]) -> None:
    """A directly or indirectly recursive rule without a signature is refused with its line."""
    recursive = SOURCE.replace(
        "@rule\ndef evaluate(s: State, data: Any) -> int:\n    return 0\n", RECURSIVE
    )
    mutual = recursive.replace("1 + count(s, n - 1)", "1 + again(s, n - 1)").replace(
        "@rule\ndef evaluate",
        "@rule\ndef again(s: State, n: int) -> int:\n    return count(s, n)\n\n\n"
        "@rule\ndef evaluate",
    )
    for source in (recursive, mutual):
        file = plug_in("planted", source.replace('@rule("i8(state, i8)")', "@rule"))
        line = file.read_text().splitlines().index("def count(s: State, n: int) -> int:")
        with pytest.raises(
            GameFault, match=rf"plugged_planted.py:{line}: count calls itself: give its signature"
        ):
            compile_game(load_game("planted"))


def test_floats_are_reported_from_the_cache(plug_in: Callable[[str, str], Path]) -> None:
    """A game from the cache still reports the variables that were compiled as floats."""
    wrong = (
        "    total = 0\n    if s[0] & ONE:\n        total = s[0]\n    return np.int64(total) * 7\n"
    )
    plug_in("planted", SOURCE.replace("    return 0\n", wrong))
    for _ in range(2):
        native = compile_game(load_game("planted"))
        native.function("rule_evaluate")
        assert any("total in evaluate" in line for line in native.float_variables())
    assert not native._fresh_floats(), "the second build was loaded from the cache"


def test_bad_signatures(plug_in: Callable[[str, str], Path]) -> None:
    """An invalid signature raises GameFault with the allowed type names."""
    source = SOURCE.replace("@rule\ndef evaluate", '@rule("i8(tuple)")\ndef evaluate')
    plug_in("planted", source)
    with pytest.raises(GameFault, match="'tuple' is not one of state"):
        compile_game(load_game("planted")).function("root")


def test_uncompiled_bit_helpers() -> None:
    """popcount, lsb and msb are right uncompiled; other tests check them compiled."""
    from engine.jit import lsb, msb, popcount

    for word in (1, 2, 3, 0x8000000000000000, 0xFFFFFFFFFFFFFFFF, 0x0123456789ABCDEF):
        assert popcount(np.uint64(word)) == bin(word).count("1")
        assert lsb(np.uint64(word)) == len(bin(word)) - len(bin(word).rstrip("0"))
        assert msb(np.uint64(word)) == len(bin(word)) - 3


def test_memory_is_checked() -> None:
    """`Memory` accepts only contiguous arrays of 64-bit integers."""
    for array in (np.zeros(3, np.int32), np.zeros(6, np.int64)[::2], np.zeros(3)):
        with pytest.raises(TypeError):
            Memory(array)


def test_warm_command(capsys: pytest.CaptureFixture[str]) -> None:
    """`python -m engine.warm` prints a line for each compiled game and refuses unknown games."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PLYROOM_CACHE": str(CACHE.parent)}
    command = [sys.executable, "-m", "engine.warm"]
    completed = subprocess.run(
        [*command, "tic-tac-toe"],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert completed.returncode == 0, completed.stderr
    assert completed.stdout.startswith("tic-tac-toe: ready in ")
    assert warm.main(["chequers"]) == 2
    assert "there is no game" in capsys.readouterr().err


def test_rules_must_be_an_imported_module() -> None:
    """Rules that are not a module in sys.modules are refused, because they would crash numba."""

    class Rules:
        pass

    game = load_game("tic-tac-toe")
    unregistered = Rules()
    vars(unregistered).update(
        {name: value for name, value in vars(game.module).items() if not name.startswith("__")}
    )
    with pytest.raises(GameFault, match="imported"):
        compile_game(Game(unregistered, game.digest))  # type: ignore[arg-type]


def test_search_and_personas_have_their_own_locks() -> None:
    """Loading a game's search does not wait for the compilation of its personas, or vice versa."""
    game = load_game("tic-tac-toe")
    search, personas = compile_game(game), compile_game(game, expectimax)
    assert {search.scope, personas.scope} == {"tic-tac-toe", "tic-tac-toe@expectimax"}
    assert search.tag != personas.tag
    with code_cache.locked(CACHE, personas.scope):
        search.function("root")
    with code_cache.locked(CACHE, search.scope):
        personas.function("expectimax")


def test_a_step_is_ready_when_its_code_is_complete(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A compilation step is ready once it is noted as ready, not when some code is in the cache.

    A solver that could not be loaded is no longer ready; nothing is after the search was lost.
    """
    monkeypatch.setenv("PLYROOM_CACHE", str(tmp_path))
    folder, tag = code_cache.code_folder(), code_cache.tag_of("planted", "d1")
    code = folder / "m" / f"kernel.root.{tag}-1.py311.1.nbc"
    code.parent.mkdir()
    code.write_text("code")
    code_cache.seal(folder, tag)
    assert not code_cache.is_ready("planted", "d1", "search")
    code_cache.note_ready("planted", "d1", "search")
    code_cache.note_ready("planted", "d1", "solver")
    code_cache.seal(folder, tag, ["x"])
    assert code_cache.is_ready("planted", "d1", "search")
    assert code_cache.is_ready("planted", "d1", "solver")
    assert not code_cache.is_ready("planted", "d1", "persona")
    assert not code_cache.is_ready("planted", "d2", "search")
    assert code_cache.is_intact(folder, tag)
    code.write_text("other")
    assert not code_cache.is_intact(folder, tag)
    code_cache.forget_ready("planted", "d1", "solver")
    assert code_cache.is_ready("planted", "d1", "search")
    assert not code_cache.is_ready("planted", "d1", "solver")
    code_cache.note_ready("planted", "d1", "solver")
    code_cache.forget_ready("planted", "d1", "search")
    assert not code_cache.is_ready("planted", "d1", "search")
    assert not code_cache.is_ready("planted", "d1", "solver")
    assert not code.exists()
