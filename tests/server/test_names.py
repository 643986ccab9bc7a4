"""The names of people: which are refused, what becomes of the others, and of those in the store."""

# ruff: noqa: RUF001 (these tests need letters that look alike)

import unicodedata
from dataclasses import replace
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.rules.registry import load_game
from engine.search.job import PERSONAS
from engine.strategies.names import player_name, title_of
from engine.strategies.registry import strategy_names
from server.identity.guests import find_guest, new_guest, rename_guest, token_hash
from server.ids import IdentityId
from server.limits.by_address import NAMES_BURST, NAMES_PER_MINUTE, LimitExceeded, Limits
from server.protocol.codes import Code
from server.rooms.model import BOT_NAME, CommandRejected
from server.rooms.names import MAX_NAME, clean_name, is_reserved, shown_name
from server.rooms.seats import ai_occupant
from server.rooms.text import clean_text
from server.store.base import Identity
from tests.server.test_text import ENGLAND, FAMILY, TYPED
from tests.support.fake_server import START_MS, FakeServer

#: Names of people as they are typed, by script, each with what others see: None if it is the same,
#: "" if it is refused.
NAMES: dict[str, dict[str, str | None]] = {
    "Latin": {
        "Ann": None, "ANN ": "ANN", "A\u00a0nn": "A nn", "Zoë": None, "Zoe\u0308": "Zoë",
        "Nguyễn Thị Ánh": None, "Nguye\u0302\u0303n": "Nguyễn", "Łukasz": None, "İbrahim": None,
        "a\u200bb": "ab", "An\u00adn": "Ann", "Ann\u0000": "Ann", "A\u3164nn": "Ann",
        "\u202eevil": "evil", "null": None, "<b>x</b>": None, "\ufb01": None, "O'Brien": None,
        "Z" + 40 * "\u0334\u0327\u0321\u0322": "Z\u0334\u0334\u0334", "A\nB\tC": "A B C",
    },
    "Greek": {"Αλέξης": None, "Αλε\u0301ξης": "Αλέξης"},
    "Cyrillic": {"Алла": None, "Сергей": None, "Сергеи\u0306": "Сергей"},
    "Armenian": {"Արամ": None},
    "Georgian": {"ნინო": None},
    "Hebrew": {"דוד": None, "שָׁלוֹם": None, "\u200fדוד\u200e": "דוד"},
    "Arabic": {"عمر": None, "مُحَمَّد": None, "می\u200cخواهم": None, "\u202bعمر\u202c": "عمر"},
    "Syriac": {"ܐܒܪܗܡ": None},
    "N'Ko": {"ߒߞߏ": None},
    "Devanagari": {"क्षि": None, "प्र\u200cिया": None, "रा\u200bम": "राम"},
    "Bengali": {"র\u200d্যাব": None, "অনন্যা": None},
    "Gurmukhi": {"ਗੁਰਪ੍ਰੀਤ": None},
    "Tamil": {"செல்வி": None},
    "Telugu": {"శ్రీను": None},
    "Malayalam": {"മോഹന്\u200d": None},
    "Sinhala": {"ශ්\u200dරී": None},
    "Thai": {"น้ำทิพย์": None},
    "Lao": {"ຄຳຫຼ້າ": None},
    "Tibetan": {"བསྒྲུབས": None},
    "Burmese": {"ကျော်": None},
    "Khmer": {"សុខា": None, "ស\u17b4ុខា": "សុខា"},
    "Mongolian": {"ᠮᠣᠩᠭᠣᠯ\u180eᠠ": None},
    "Ethiopic": {"ሃና": None},
    "Cherokee": {"ᏣᎳᎩ": None},
    "Hangul": {"민준": None, unicodedata.normalize("NFD", "민준"): "민준", "\u115f\u1160": ""},
    "Kana": {"さくら": None, "か\u3099": "が"},
    "Han": {"王伟": None, "渡邊\U000e0100": None},
    "emoji": {
        FAMILY: None, ENGLAND: None, "🇩🇪": None, "🏳️\u200d🌈 flag": None, "💡": None,
        "\U0001f3f4\U000e0067\U000e0062": "\U0001f3f4",
    },
    "nothing": {
        "\u00ad": "", "\u3164": "", "\uffa0": "", "\u2800\u2800": "", "\u200d": "", "\u0301": "",
        "\u202e\u2066": "", "\ufe0f": "", "\U000e0067": "", " \t\u3000": "", "\U0001d159": "",
        "\ue000": "",
    },
}  # fmt: skip

#: Names that are nobody's, and variants with Cyrillic, Greek, full-width, accented, enclosed and
#: otherwise similar letters.
RESERVED = [
    "AI", "ai", "AI level 5", "ai LEVEL 5", "A.I. level 5", "AI-level-12", "AILevel5", "AI  level",
    "AI level five",
    "ＡＩ level ５", "АІ level 5", "Al level 5", "A1 leve1 5", "AI lеvеl 5", "ΑΙ level 5",
    "A\u0301I level 5",
    "AI level ⑤", "CP #1", "CP", "cp1", "CPU", "CPU 2", "Computer", "COMPUTER 3", "AI 5", "AI #5",
    "СР #1", "CP #l MiniMax", "The AI", "cornputer",
    "AI average", "ai_swindler", "AI random", "Al random", "Swindler", "The swindler",
    "Plyroom", "PLYROOM", "P1yr00m", "Рlуrооm", "Plyroorn", "★Plyroom★", "P l y r o o m",
    "Plyrøøm", "Plyroom bot", "Ply\u200broom", "ᴘʟʏʀᴏᴏᴍ", "Ⓟⓛⓨⓡⓞⓞⓜ", "🅿🅻🆈🆁🅾🅾🅼", "🇵🇱🇾🇷🇴🇴🇲",
    "ꓑꓡꓬꓣꓳꓳꓟ", "Pĺýřóôm", "ΡLYRΟΟΜ", "ｐｌｙｒｏｏｍ", "𝓟𝓵𝔂𝓻𝓸𝓸𝓶",
    "The room's bot", "the room’s bot", "Room bot", "Bot", "B0t", "Bot 2", "Вот",
    "Level 5", "level 10", "LeveI 5", "Leve1 5", "Lеvеl 5", "Level ⑤", "Level 5 Champion",
    "Level ٥", "MiniMax", "minimax", "Minimax", "Alpha-Beta", "ALPHABETA", "Greedy", "Random",
    "Max-N", "MаxN", "Minimax depth=3", "AlphaBeta, depth 12", "Random depth=l0",
    "Greedy depth two", "Level no. 5", "Level Nr 5",
    "Server", "System", "ѕystem", "Syѕtem 1", "Admin", "Moderator",
    "Lev3l 5", "L3v3l 5", "Level V", "Level five", "Lvl 5", "AI lvl 5", "4I level 5", "ΛI level 5",
    "∀I level 5", "ᒪevel 5", "5ystem", "Sy5tem 1", "S3rv3r", "4dmin", "8ot", "B°t", "ß0t", "R4ndom",
    "6reedy", "Minim4x", "Neg4max", "4lph4b3t4", "Th3 5windler", "Plyґoom", "Ⲣlyroom", "ᑭᒪyroom",
    "₽lyroom", "þlyroom", "Plyrʘʘm", "Plyr○○m", "Plyr〇〇m", "PΙγroom", "Р|уr00m", "ⲤPU",
    "M0der4tor",
]  # fmt: skip

#: Names near those, which people have.
FREE = [
    "Ada", "Al", "Ali", "Ai Weiwei", "Aidan", "Cpt. Kirk", "Cpl. Smith", "Computer science",
    "Guest 1234", "Алла", "Аида", "Ciara", "A. Level", "Level", "Levi", "Αλέξης", "7", "💡",
    "AI fan", "Boti", "Botond", "Talbot", "Servet", "Randolph", "Max", "Maxine", "Minna",
    "Average Joe", "Strauß", "Þórdís", "7wo", "T3st", "Levi 5", "Max 4", "R2D2", "B4", "Λίνα",
    "4you", "S5", "Ivio", "Livi 5", "Level Up", "Ten levels", "Olivier V", "Louis XIV",
    "Random Dent", "In depth", "Random Depths", "Random depth of field", "Levelnova",
]  # fmt: skip


def test_the_names_are_of_many_scripts() -> None:
    """The table has at least 60 names of 20 scripts."""
    assert sum(map(len, NAMES.values())) >= 60
    assert len(NAMES) >= 22


@pytest.mark.parametrize("script", NAMES)
def test_a_name_survives_or_becomes_the_right_one(script: str) -> None:
    """A name is shown as people of its script write it, without what nobody can see, or refused."""
    for typed, expected in NAMES[script].items():
        if expected == "":
            with pytest.raises(CommandRejected, match="1 to 24 visible") as refused:
                clean_name(typed)
            assert refused.value.code is Code.NAME_REFUSED
        else:
            assert clean_name(typed) == (typed if expected is None else expected), ascii(typed)
            assert shown_name("ann", typed) == clean_name(typed)


@pytest.mark.parametrize("name", RESERVED)
def test_a_reserved_name_is_refused(name: str) -> None:
    """Names of the server, its bot and its AIs are refused in any case, spacing and punctuation,
    and with look-alike letters.
    """
    with pytest.raises(CommandRejected, match="reserved; choose another") as refused:
        clean_name(name)
    assert refused.value.code is Code.NAME_REFUSED


def test_names_of_ai_seats_are_refused() -> None:
    """The name of every AI level, persona and strategy is refused, and that of the bot."""
    game = load_game("chess")
    seats = [ai_occupant(game, level, None) for level in range(1, game.levels + 1)]
    seats += [ai_occupant(game, None, persona) for persona in PERSONAS]
    names = [seat.name for seat in seats]
    for strategy in strategy_names():
        names += [
            strategy,
            title_of(strategy),
            player_name(strategy, 3),
            player_name(strategy, 12, 2),
        ]
    for name in (*names, BOT_NAME):
        assert is_reserved(name), name


@pytest.mark.parametrize("name", FREE)
def test_other_names_are_accepted(name: str) -> None:
    """Ordinary names are accepted, even unusual ones."""
    assert clean_name(name) == name


@given(TYPED.map(lambda text: text[: 2 * MAX_NAME]))
def test_a_name_is_bounded_or_refused(text: str) -> None:
    """A name is a clean text of 1 to MAX_NAME characters, of at most 4 bytes each, and nobody's.

    Any other name is refused. An accepted name is accepted again, unchanged.
    """
    cleaned = clean_text(text)
    if 1 <= len(cleaned) <= MAX_NAME and not is_reserved(cleaned):
        assert clean_name(text) == cleaned == clean_name(cleaned)
        assert len(cleaned.encode()) <= 4 * MAX_NAME
    else:
        with pytest.raises(CommandRejected) as refused:
            clean_name(text)
        assert refused.value.code is Code.NAME_REFUSED


@given(
    st.lists(st.sampled_from([*"aI1l\u0301ı", "AI", " level ", "🄰🄸"]), max_size=4).map("".join),
    st.sampled_from(["NFC", "NFD", "NFKC", "NFKD"]),
)
def test_the_check_ignores_the_normal_form(
    name: str, form: Literal["NFC", "NFD", "NFKC", "NFKD"]
) -> None:
    """Whether a name is reserved does not depend on its Unicode normal form."""
    assert is_reserved(unicodedata.normalize(form, name)) == is_reserved(name)


@given(TYPED.map(lambda text: text[:MAX_NAME]), st.text(max_size=12))
def test_a_shown_name_is_never_refused(name: str, identity: str) -> None:
    """A name from the store is shown clean, or as that of a guest, the same one every time."""
    shown = shown_name(identity, name)
    assert clean_text(shown) == shown
    assert shown
    assert not is_reserved(shown)
    assert shown_name(identity, shown) == shown


# --- guests ---------------------------------------------------------------------------------------


async def test_a_stored_name_that_is_refused_now_is_a_guest() -> None:
    """New guests and new names get name.refused; a guest who has such a name is "Guest 1234"."""
    ports = FakeServer().ports("n1")
    identities = ports.store.identities
    limits = Limits(ports.settings)
    for id, name in (
        ("ada", "Ada"),
        ("old", "AI level 5"),
        ("blank", "\u3164"),
        ("zoe", "Zo\u200be"),
    ):
        await identities.add_guest(Identity(IdentityId(id), name), token_hash(id), START_MS)
    found = [await find_guest(ports, token) for token in ("ada", "old", "blank", "zoe")]
    ada, old, blank, zoe = [guest for guest in found if guest is not None]
    for call in (
        new_guest(ports, limits, "", "CP #1"),
        rename_guest(ports, limits, ada, "AI level 5"),
        rename_guest(ports, limits, old, "AI level 5"),
    ):
        with pytest.raises(CommandRejected) as refused:
            await call
        assert refused.value.code is Code.NAME_REFUSED
        assert "AI" in refused.value.message
    assert [guest.name for guest in (ada, old, blank, zoe)] == [
        "Ada", shown_name("old", "Bot"), shown_name("blank", "Bot"), "Zoe",
    ]  # fmt: skip
    for name in ("", old.name, f" {old.name}\u200b"):
        assert await rename_guest(ports, limits, old, name) is old


async def test_a_rename_is_no_new_guest() -> None:
    """A guest may take new names when the address may have no more guests, and those of one guest
    are limited. A name that is refused or unchanged does not count.
    """
    ports = FakeServer().ports("n1")
    limits = Limits(replace(ports.settings, limit_guests=1, limit_guests_per_minute=1))
    ada, _ = await new_guest(ports, limits, "192.0.2.1", "Ada")
    with pytest.raises(LimitExceeded):
        await new_guest(ports, limits, "192.0.2.1", "Bob")
    for number in range(NAMES_BURST):
        with pytest.raises(CommandRejected, match="reserved"):
            await rename_guest(ports, limits, ada, "Plyroom")
        ada = await rename_guest(ports, limits, ada, ada.name)
        ada = await rename_guest(ports, limits, ada, f"Ada {number}")
    with pytest.raises(LimitExceeded, match="you may have 10 new names") as refused:
        await rename_guest(ports, limits, ada, "Ada")
    assert refused.value.retry_s == 60 // NAMES_PER_MINUTE
    found = await ports.store.identities.find(ada.id)
    assert found is not None
    assert found.name == ada.name
