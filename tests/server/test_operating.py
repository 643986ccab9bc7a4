"""docs/reference/settings.md matches the code, and no database address is shown with a secret."""

import re
from dataclasses import MISSING, fields
from pathlib import Path

import pytest

from server.settings import SettingError, Settings, settings_from_env
from server.store.postgres_link import BadUrl, PostgresUrl

PAGE = Path(__file__).parents[2] / "docs/reference/settings.md"
#: The page's texts for defaults that depend on the machine or the database.
VARIABLE_DEFAULTS = {"PLYROOM_WORKERS": "cores, at most 4", "PLYROOM_SOLE_NODE": "by the database"}


def default(value: object) -> str:
    """Returns a default as the page writes it."""
    if value is MISSING or value is None or value == "" or value == ():
        return ""
    return f"`{value:g}`" if isinstance(value, float) else f"`{value}`"


def test_the_page_lists_the_settings_of_the_code() -> None:
    """The table in docs/reference/settings.md has exactly the settings of the code, in their order.

    Each has its default.
    """
    rows = re.findall(
        r"^\| `(PLYROOM_\w+)` \| (.*?) ?\| \S.* \|$", PAGE.read_text("utf-8"), re.MULTILINE
    )
    expected = [
        (name, VARIABLE_DEFAULTS.get(name, default(setting.default)))
        for setting in fields(Settings)
        for name in [f"PLYROOM_{setting.name.upper()}"]
    ]
    assert rows == expected


def test_the_address_of_the_database_may_be_in_a_file(tmp_path: Path) -> None:
    """PLYROOM_DATABASE_FILE names a file with the address and a line end.

    It must exist, not be empty, and not come with an address.
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
    """Logging the settings logs no secret."""
    shown = repr(settings_from_env({"PLYROOM_DATABASE": "postgresql://user:password@host/name"}))
    assert "password" not in shown
    assert "max_rooms" in shown


@pytest.mark.parametrize(
    "address",
    [
        "postgresql://user:hidden@@host:port/name", "postgresql://user:hid/den@host/name", "mysql://user:hidden@host/name",
        "postgresql://user:hidden@host:99999/name", "hidden", "postgresql://user:12/hidden@host/name",
        "postgresql://user:12?hidden@host/name", "postgresql://user:12#hidden@host/name", "postgresql://[user:hidden@host/name",
    ],
)  # fmt: skip
def test_an_invalid_address_is_not_quoted(address: str) -> None:
    """The error for an invalid address quotes no part of it, which could be the password."""
    with pytest.raises(
        BadUrl, match=r"postgresql://user:password@host:5432/database was expected"
    ) as caught:
        PostgresUrl(address)
    for word in ("hidden", "hid/", "den@"):
        assert word not in f"{caught.value} {caught.value.__cause__} {caught.value.__context__}"


def test_an_address_is_shown_without_its_secrets() -> None:
    """An address is shown with user, host, port and database, but no password or options."""
    url = PostgresUrl(
        "postgresql://us%40er:pass%2Fword@one:1,two:2/name?password=other&sslmode=require"
    )
    assert str(url) == "postgresql://us%40er@one:1,two:2/name"
    assert repr(url) == "PostgresUrl('postgresql://us%40er@one:1,two:2/name')"


def test_addresses_have_the_forms_of_libpq() -> None:
    """An address may omit the user, name several hosts, an IPv6 address or a socket's folder."""
    for address in (
        "postgresql:///name",
        "postgres://host",
        "postgresql://a,b:2/name",
        "postgresql://u:p@[::1]:5/name",
    ):
        assert str(PostgresUrl(address)).startswith("postgres")
    assert str(PostgresUrl("postgresql:///name?host=/run/postgresql")) == "postgresql:///name"


def test_a_node_is_the_sole_one_on_sqlite_by_default() -> None:
    """By default a node is the sole one on SQLite, and not on PostgreSQL."""
    address = {"PLYROOM_DATABASE": "postgresql://user@host/name"}
    assert settings_from_env({}).is_sole_node
    assert not settings_from_env(address).is_sole_node
    assert not settings_from_env({"PLYROOM_SOLE_NODE": "no"}).is_sole_node
    assert settings_from_env({**address, "PLYROOM_SOLE_NODE": "yes"}).is_sole_node
