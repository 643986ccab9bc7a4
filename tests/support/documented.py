"""Extracts the files in docs/tutorial/add-a-game.md and installs them as a separate
distribution.
"""

import re
import tomllib
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "tutorial" / "add-a-game.md"
BLOCK = re.compile(r'^```\w+ title="([^"]+)"\n(.*?)^```$', re.MULTILINE | re.DOTALL)


def documented_files() -> dict[str, str]:
    """Returns the text of each file, its parts joined in the order of the page."""
    parts: dict[str, list[str]] = {}
    for name, text in BLOCK.findall(PAGE.read_text("utf-8")):
        parts.setdefault(name, []).append(text)
    return {name: "\n\n".join(texts) for name, texts in parts.items()}


def install(folder: Path) -> None:
    """Writes the files into a folder, with the metadata that an installer generates."""
    files = documented_files()
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
