"""The number of faults after which a game is in quarantine, and for how long."""

from itertools import pairwise

from engine.pool.quarantine import FAULTS_IN_A_ROW, FIRST_PAUSE_S, MAX_PAUSE_S, Quarantine


def test_consecutive_faults_start_a_quarantine() -> None:
    """Only the last of FAULTS_IN_A_ROW faults starts the quarantine; an answer resets the count."""
    quarantine = Quarantine()
    starts = [quarantine.record_fault("chess", "a", "boom", 0) for _ in range(FAULTS_IN_A_ROW - 1)]
    quarantine.record_answer("chess", "a", 0)
    starts += [quarantine.record_fault("chess", "a", "boom", 0) for _ in range(FAULTS_IN_A_ROW + 2)]
    assert [number for number, is_last in enumerate(starts) if is_last] == [2 * FAULTS_IN_A_ROW - 2]


def test_a_quarantine_covers_one_version_of_one_game() -> None:
    """A quarantine covers one version of one game, and neither a late answer nor time ends it."""
    quarantine = Quarantine()
    for _ in range(FAULTS_IN_A_ROW):
        quarantine.record_fault("chess", "a", "boom", 0)
    quarantine.record_answer("chess", "a", 0)
    error = quarantine.error("chess", "a", 1000 * MAX_PAUSE_S)
    assert error is not None
    assert "chess" in str(error)
    assert "boom" in str(error)
    assert quarantine.error("chess", "b", 0) is None
    assert quarantine.error("go", "a", 0) is None


def test_a_game_whose_workers_are_lost_gets_another_try() -> None:
    """The quarantine ends by itself; each further loss starts one that is twice as long, up to
    MAX_PAUSE_S, until a search is answered.
    """
    quarantine, now_s, pauses = Quarantine(), 0.0, []
    for _ in range(FAULTS_IN_A_ROW - 1):
        assert not quarantine.record_loss("chess", "a", "killed", now_s, now_s)
    for _ in range(9):
        assert quarantine.record_loss("chess", "a", "killed", now_s, now_s)
        assert not quarantine.record_loss("chess", "a", "killed", now_s, now_s), "an earlier search"
        quarantine.record_answer("chess", "a", now_s)
        end_s = now_s
        while (error := quarantine.error("chess", "a", end_s)) is not None:
            last_s = end_s + error.left_s
            end_s += 1
        assert last_s == end_s
        pauses.append(end_s - now_s)
        now_s = end_s
    assert pauses[0] == FIRST_PAUSE_S
    assert pauses[-1] == MAX_PAUSE_S
    assert all(after == min(2 * before, MAX_PAUSE_S) for before, after in pairwise(pauses))
    quarantine.record_answer("chess", "a", now_s)
    assert not quarantine.record_loss("chess", "a", "killed", now_s, now_s), (
        "the count starts from zero"
    )


def test_the_error_tells_how_long_the_quarantine_lasts() -> None:
    """A quarantine after lost workers names the seconds that are left."""
    quarantine = Quarantine()
    for _ in range(FAULTS_IN_A_ROW):
        quarantine.record_loss("chess", "a", "killed", 0, 0)
    assert "for 50 s" in str(quarantine.error("chess", "a", FIRST_PAUSE_S - 50))
