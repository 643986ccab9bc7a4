"""The small pictures of the lessons, which are files of the client."""

import xml.etree.ElementTree as ElementTree

import pytest

from engine.reference.lessons import HEIGHT, WIDTH, lesson_picture
from engine.teach.lessons.catalogue import LESSONS, lesson_traces
from server.web.client_files import client_folder

FOLDER = client_folder() / "pages/learn/pictures"
#: Lessons whose searches take seconds.
SLOW = ("tic-tac-toe", "shared-states")
SVG = "{http://www.w3.org/2000/svg}"


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=[pytest.mark.long] if name in SLOW else []) for name in LESSONS],
)
def test_the_picture_of_a_lesson_is_that_of_its_search(name: str) -> None:
    """The file is what `python -m engine.reference.lessons` writes, and fits its box."""
    picture = lesson_picture(name)
    assert (FOLDER / f"{name}.svg").read_text("utf-8") == picture
    root = ElementTree.fromstring(picture)
    assert (root.get("width"), root.get("height")) == (str(WIDTH), str(HEIGHT))
    places = [
        float(number)
        for path in root.iter(f"{SVG}path")
        if (path.get("class") or "") in ("e", "b")
        for number in path.get("d", "").replace("M", "").replace("L", " ").split()
    ]
    assert all(0 <= x <= WIDTH for x in places[::2])
    assert all(0 <= y <= HEIGHT for y in places[1::2])


def test_there_is_a_picture_for_each_lesson() -> None:
    """The client has one picture for each lesson, and no other."""
    assert {path.stem for path in FOLDER.glob("*.svg")} == set(LESSONS)


def test_a_small_picture_shows_each_visited_node_and_each_cut() -> None:
    """The picture of the four-level tree has 19 nodes and crosses for its 4 skipped branches."""
    root = ElementTree.fromstring(lesson_picture("four-level-tree"))
    trace = lesson_traces("four-level-tree")[0]
    kinds = [path.get("class") for path in root.iter(f"{SVG}path")]
    assert sum(kind in ("max", "min", "leaf") for kind in kinds) == trace.counts.nodes == 19
    assert kinds.count("x") == 2 * len(trace.skipped.parent)
