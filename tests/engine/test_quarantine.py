"""The number of faults after which a game is in quarantine."""

from engine.pool.quarantine import FAULTS_IN_A_ROW, Quarantine


def test_consecutive_faults_start_a_quarantine() -> None:
    """Only the last of FAULTS_IN_A_ROW faults starts the quarantine; an answer resets the count."""
    quarantine = Quarantine()
    starts = [quarantine.record_fault("chess", "a", "boom") for _ in range(FAULTS_IN_A_ROW - 1)]
    quarantine.record_answer("chess", "a")
    starts += [quarantine.record_fault("chess", "a", "boom") for _ in range(FAULTS_IN_A_ROW + 2)]
    assert [number for number, is_last in enumerate(starts) if is_last] == [2 * FAULTS_IN_A_ROW - 2]


def test_a_quarantine_covers_one_version_of_one_game() -> None:
    """A quarantine covers one version of one game, and a late answer does not end it."""
    quarantine = Quarantine()
    for _ in range(FAULTS_IN_A_ROW):
        quarantine.record_fault("chess", "a", "boom")
    quarantine.record_answer("chess", "a")
    error = quarantine.error("chess", "a")
    assert error is not None
    assert "chess" in str(error)
    assert "boom" in str(error)
    assert quarantine.error("chess", "b") is None
    assert quarantine.error("go", "a") is None
