"""docs/operating.md is correct, and the settings of the database have the documented effects."""

import re
from dataclasses import MISSING, fields
from pathlib import Path

import pytest

from server.settings import SettingError, Settings, settings_from_env
from server.store.postgres_link import BadUrl, PostgresUrl

PAGE = Path(__file__).parents[2] / "docs/operating.md"
#: Defaults that depend on other settings, as the page describes them.
WORDS = {"PLYROOM_WORKERS": "cores, at most 4", "PLYROOM_SOLE_NODE": "by the database"}


def default(value: object) -> str:
    """Returns a default as the page writes it."""
    if value is MISSING or value is None or value == "" or value == ():
        return ""
    return f"`{value:g}`" if isinstance(value, float) else f"`{value}`"


def test_the_table_of_settings_is_that_of_the_code() -> None:
    """The page's table has exactly the settings of the code, with defaults and in order."""
    rows = re.findall(
        r"^\| `(PLYROOM_\w+)` \| (.*?) ?\| \S.* \|$", PAGE.read_text("utf-8"), re.MULTILINE
    )
    expected = [
        (name, WORDS.get(name, default(one.default)))
        for one in fields(Settings)
        for name in [f"PLYROOM_{one.name.upper()}"]
    ]
    assert rows == expected


def test_the_address_of_the_database_may_be_in_a_file(tmp_path: Path) -> None:
    """PLYROOM_DATABASE_FILE gives the address, without the end of the line.

    A missing or empty file is refused, and so is the setting beside an address.
    """
    secret = tmp_path / "database"
    secret.write_text("postgresql://user:password@host/name\n")
    settings = settings_from_env({"PLYROOM_DATABASE_FILE": str(secret)})
    assert settings.database == "postgresql://user:password@host/name"
    with pytest.raises(SettingError, match="both"):
        settings_from_env(
            {
                "PLYROOM_DATABASE_FILE": str(secret),
                "PLYROOM_DATABASE": "postgresql://user@host/name",
            }
        )
    secret.write_text(" \n")
    with pytest.raises(SettingError, match="empty"):
        settings_from_env({"PLYROOM_DATABASE_FILE": str(secret)})
    with pytest.raises(SettingError, match="cannot be read"):
        settings_from_env({"PLYROOM_DATABASE_FILE": str(tmp_path / "missing")})


def test_settings_do_not_show_the_password() -> None:
    """The text of the settings contains no secret."""
    shown = repr(settings_from_env({"PLYROOM_DATABASE": "postgresql://user:password@host/name"}))
    assert "password" not in shown
    assert "max_rooms" in shown


@pytest.mark.parametrize(
    "address",
    [
        "postgresql://user:hidden@@host:port/name", "postgresql://user:hid/den@host/name",
        "mysql://user:hidden@host/name", "postgresql://user:hidden@host:99999/name",
        "hidden", "postgresql://user:12/hidden@host/name",
        "postgresql://user:12?hidden@host/name", "postgresql://user:12#hidden@host/name",
        "postgresql://[user:hidden@host/name",
    ],
)  # fmt: skip
def test_an_invalid_address_is_not_repeated(address: str) -> None:
    """The error of an invalid address repeats no part of it, which may be the password."""
    with pytest.raises(
        BadUrl, match=r"postgresql://user:password@host:5432/database was expected"
    ) as caught:
        PostgresUrl(address)
    for word in ("hidden", "hid/", "den@"):
        assert word not in f"{caught.value} {caught.value.__cause__} {caught.value.__context__}"


def test_an_address_is_shown_without_its_secrets() -> None:
    """An address is shown as user, host, port and database.

    It shows neither the password nor the options, which may contain one too.
    """
    url = PostgresUrl(
        "postgresql://us%40er:pass%2Fword@one:1,two:2/name?password=other&sslmode=require"
    )
    assert str(url) == "postgresql://us%40er@one:1,two:2/name"
    assert repr(url) == "PostgresUrl('postgresql://us%40er@one:1,two:2/name')"


def test_addresses_in_the_forms_of_libpq() -> None:
    """libpq's forms of an address work: no user, several hosts, IPv6, a socket's folder."""
    for address in (
        "postgresql:///name",
        "postgres://host",
        "postgresql://a,b:2/name",
        "postgresql://u:p@[::1]:5/name",
    ):
        assert str(PostgresUrl(address)).startswith("postgres")
    assert str(PostgresUrl("postgresql:///name?host=/run/postgresql")) == "postgresql:///name"


def test_a_node_is_sole_by_default_on_sqlite() -> None:
    """A node is the sole node by default on SQLite, but not on PostgreSQL."""
    address = {"PLYROOM_DATABASE": "postgresql://user@host/name"}
    assert settings_from_env({}).alone
    assert not settings_from_env(address).alone
    assert not settings_from_env({"PLYROOM_SOLE_NODE": "no"}).alone
    assert settings_from_env({**address, "PLYROOM_SOLE_NODE": "yes"}).alone
