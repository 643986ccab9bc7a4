"""A game's digest covers the files of its rules and of its search."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from engine.rules import digest
from engine.rules.digest import digest_files, rules_digest
from engine.rules.registry import game_ids, load_game

#: The folder of the engine.
ENGINE = Path(digest.__file__).parents[1]
#: Files that every digest must cover.
REQUIRED = (
    "jit.py", "lanes.py", "game.py", "rules/call.py", "rules/contract.py", "rules/resolved.py",
    "rules/overflow.py", "rules/data.py", "rules/parts.py",
    "compiler/native.py", "compiler/native_lanes.py", "compiler/inlining.py", "search/layout.py",
    "search/features.py", "search/parameters.py", "search/hooks.py", "search/stack.py",
    "search/tt.py", "search/movepick.py", "search/steps.py", "search/reference.py",
    "search/kernel.py",
)  # fmt: skip


@pytest.mark.parametrize("game_id", game_ids())
def test_every_byte_of_every_file_counts(game_id: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A changed byte in any file changes the digest; each file gives a digest of its own."""
    rules: Any = load_game(game_id).module
    original_read, files = digest._read, digest_files(rules)
    changed = Path()

    def read_changed(path: Path, module: Any) -> bytes:
        content = original_read(path, module)
        return bytes([content[0] ^ 1]) + content[1:] if path == changed else content

    monkeypatch.setattr(digest, "_read", read_changed)
    digests = {rules_digest(rules)}
    for path in files:
        changed = path
        digests.add(rules_digest(rules))
    assert len(digests) == 1 + len(files)


@pytest.mark.parametrize("game_id", game_ids())
def test_the_digest_covers_the_search_and_the_contract(game_id: str) -> None:
    """The digest finds the files of the search and of the contract by following the imports."""
    rules: Any = load_game(game_id).module
    assert {ENGINE / name for name in REQUIRED} <= set(digest_files(rules))


def test_a_digest_does_not_import_numba() -> None:
    """Computing a digest does not import numba."""
    code = (
        "import sys; from engine.rules.registry import load_game;"
        " load_game('chess'); print('numba' in sys.modules)"
    )
    completed = subprocess.run(
        [sys.executable, "-c", code], cwd=ENGINE.parent, capture_output=True, text=True, check=True
    )
    assert completed.stdout.strip() == "False"
