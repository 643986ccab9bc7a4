"""A fixture that plants errors into the source of the teaching search."""

import importlib.util
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import pytest


@pytest.fixture
def planted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[[ModuleType, str, str], None]]:
    """Returns a function that replaces a module by a copy with one piece of text changed."""
    names: list[str] = []

    def plant(original: ModuleType, right: str, wrong: str) -> None:
        source = Path(str(original.__file__)).read_text("utf-8")
        assert right in source, "the source has changed: adapt the planted error"
        name = f"planted_{original.__name__.rpartition('.')[2]}_{len(names)}"
        names.append(name)
        file = tmp_path / f"{name}.py"
        file.write_text(source.replace(right, wrong))
        spec = importlib.util.spec_from_file_location(name, file)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        spec.loader.exec_module(module)
        replace_everywhere(original, module, monkeypatch)

    yield plant
    for name in names:
        del sys.modules[name]


def replace_everywhere(
    original: ModuleType, planted: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Replaces the module and all its definitions in every module that imports them."""
    users = [
        module
        for name, module in list(sys.modules.items())
        if name.startswith(("engine.teach.", "tests.engine.teach.")) and module is not original
    ]
    own = {
        name: value
        for name, value in vars(original).items()
        if getattr(value, "__module__", None) == original.__name__ and hasattr(planted, name)
    }
    for user in users:
        for name, value in list(vars(user).items()):
            if value is original:
                monkeypatch.setattr(user, name, planted)
            elif name in own and value is own[name]:
                monkeypatch.setattr(user, name, getattr(planted, name))
