"""The count of faults that takes a game out of the search."""

from engine.pool.quarantine import FAULTS_IN_A_ROW, Quarantine


def test_so_many_in_a_row() -> None:
    """The last fault, and only it, is the one too many; an answer in between begins the count anew."""
    quarantine = Quarantine()
    counted = [quarantine.fault("chess", "a", "boom") for _ in range(FAULTS_IN_A_ROW - 1)]
    quarantine.answered("chess", "a")
    counted += [quarantine.fault("chess", "a", "boom") for _ in range(FAULTS_IN_A_ROW + 2)]
    assert [number for number, is_last in enumerate(counted) if is_last] == [
        2 * FAULTS_IN_A_ROW - 2
    ]


def test_only_that_version_of_that_game() -> None:
    """Other games and other rules of the same game are searched; late answers do not free it."""
    quarantine = Quarantine()
    for _ in range(FAULTS_IN_A_ROW):
        quarantine.fault("chess", "a", "boom")
    quarantine.answered("chess", "a")
    error = quarantine.error("chess", "a")
    assert error is not None
    assert "chess" in str(error)
    assert "boom" in str(error)
    assert quarantine.error("chess", "b") is None
    assert quarantine.error("go", "a") is None
