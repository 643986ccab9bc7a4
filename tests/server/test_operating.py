"""docs/operating.md says what is, and the settings about the database do what it says."""

import re
from dataclasses import MISSING, fields
from pathlib import Path

import pytest

from server.settings import SettingError, Settings, settings_from_env

PAGE = Path(__file__).parents[2] / "docs/operating.md"
WORDS = {"PLYROOM_WORKERS": "cores, at most 4", "PLYROOM_SOLE_NODE": "by the database"}
"""Defaults that depend on something."""


def default(value: object) -> str:
    """As the page writes it."""
    if value is MISSING or value is None or value == "" or value == ():
        return ""
    return f"`{value:g}`" if isinstance(value, float) else f"`{value}`"


def test_the_table_of_settings_is_that_of_the_code() -> None:
    """Every setting is in the table of docs/operating.md with its default, in the order of the code, and no other."""
    rows = re.findall(r"^\| `(PLYROOM_\w+)` \| (.*?) ?\| \S.* \|$", PAGE.read_text("utf-8"), re.MULTILINE)
    expected = [
        (name, WORDS.get(name, default(one.default)))
        for one in fields(Settings)
        for name in [f"PLYROOM_{one.name.upper()}"]
    ]
    assert rows == expected


def test_the_address_of_the_database_may_be_in_a_file(tmp_path: Path) -> None:
    """PLYROOM_DATABASE_FILE: the file's text without the line's end; not beside an address, not empty, not missing."""
    secret = tmp_path / "database"
    secret.write_text("postgresql://user:password@host/name\n")
    settings = settings_from_env({"PLYROOM_DATABASE_FILE": str(secret)})
    assert settings.database == "postgresql://user:password@host/name"
    with pytest.raises(SettingError, match="both"):
        settings_from_env({"PLYROOM_DATABASE_FILE": str(secret), "PLYROOM_DATABASE": "postgresql://user@host/name"})
    secret.write_text(" \n")
    with pytest.raises(SettingError, match="empty"):
        settings_from_env({"PLYROOM_DATABASE_FILE": str(secret)})
    with pytest.raises(SettingError, match="cannot be read"):
        settings_from_env({"PLYROOM_DATABASE_FILE": str(tmp_path / "missing")})


def test_settings_do_not_show_the_password() -> None:
    """Whoever logs the settings logs no secret."""
    shown = repr(settings_from_env({"PLYROOM_DATABASE": "postgresql://user:password@host/name"}))
    assert "password" not in shown
    assert "max_rooms" in shown


def test_a_node_is_alone_on_sqlite_unless_it_is_said() -> None:
    """And not on PostgreSQL."""
    address = {"PLYROOM_DATABASE": "postgresql://user@host/name"}
    assert settings_from_env({}).alone
    assert not settings_from_env(address).alone
    assert not settings_from_env({"PLYROOM_SOLE_NODE": "no"}).alone
    assert settings_from_env({**address, "PLYROOM_SOLE_NODE": "yes"}).alone
