"""Extracts the files of a documentation page, and installs them as a separate distribution."""

import re
import tomllib
from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs"
PAGE = DOCS / "tutorial" / "add-a-game.md"
STRATEGIES_PAGE = DOCS / "how-to" / "strategies.md"
BLOCK = re.compile(r'^```\w+ title="([^"]+)"\n(.*?)^```$', re.MULTILINE | re.DOTALL)


def documented_files(page: Path = PAGE) -> dict[str, str]:
    """Returns the text of each file of a page, its parts joined in the order of the page."""
    parts: dict[str, list[str]] = {}
    for name, text in BLOCK.findall(page.read_text("utf-8")):
        parts.setdefault(name, []).append(text)
    return {name: "\n\n".join(texts) for name, texts in parts.items()}


def install(folder: Path, page: Path = PAGE) -> None:
    """Writes the files of a page into a folder, with the metadata that an installer generates."""
    install_files(folder, documented_files(page))


def install_files(folder: Path, files: dict[str, str]) -> None:
    """Writes the files of a distribution into a folder, with an installer's metadata.

    `files` includes `pyproject.toml`.
    """
    for name, text in files.items():
        (folder / name).write_text(text, "utf-8")
    project = tomllib.loads(files["pyproject.toml"])["project"]
    info = folder / f"{project['name'].replace('-', '_')}-{project['version']}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n"
    )
    groups = project["entry-points"].items()
    lines = [
        line
        for group, names in groups
        for line in (f"[{group}]", *(f"{n} = {m}" for n, m in names.items()))
    ]
    (info / "entry_points.txt").write_text("\n".join(lines) + "\n")
