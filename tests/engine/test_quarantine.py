"""The count of faults that puts a game into quarantine."""

from engine.pool.quarantine import FAULTS_IN_A_ROW, Quarantine


def test_so_many_in_a_row() -> None:
    """Only the last of FAULTS_IN_A_ROW faults starts the quarantine; an answer resets the count."""
    quarantine = Quarantine()
    counted = [quarantine.record_fault("chess", "a", "boom") for _ in range(FAULTS_IN_A_ROW - 1)]
    quarantine.record_answer("chess", "a")
    counted += [quarantine.record_fault("chess", "a", "boom") for _ in range(FAULTS_IN_A_ROW + 2)]
    assert [number for number, is_last in enumerate(counted) if is_last] == [
        2 * FAULTS_IN_A_ROW - 2
    ]


def test_only_that_version_of_that_game() -> None:
    """The quarantine covers one version of one game only, and late answers do not lift it."""
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
