"""What was reported as safe is safe, wherever in a run the disk fills or a sync fails.

A recorded run is repeated once for each write and each sync that it makes, with that one failing;
the state on disk is compared with what was told the journal, at the end and after kills between.
"""

import shutil
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from gossamer.session.records import SessionRecord
from gossamer.storage import writer
from gossamer.storage.batch import Batch
from gossamer.storage.files import StoreError
from gossamer.storage.index import Index
from gossamer.storage.journal import CollectingJournal
from gossamer.storage.schema import SESSION
from gossamer.storage.sqlite_store import SqliteStore
from gossamer.storage.writer import Writer
from tests.support.failing_files import FULL, SYNC_FAILED, WRITE_FAILED, FailingFiles
from tests.support.polling import eventually
from tests.support.store_driver import Driver
from tests.support.store_model import Model, State, snapshot_state
from tests.support.stores import PATIENCE, whole

STEPS = 60
STEPS_A_TURN = 4


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writer, "RETRY_SECONDS", 0.001)
    monkeypatch.setattr(writer, "CHECKPOINT_BYTES", 40_000)  # so that it happens in the run


class Run:
    """The same calls each time; the disk decides what becomes of them."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.folder = folder
        self.store = SqliteStore(folder, "full")
        self.files = FailingFiles(self.store._connection)
        self.model = Model()
        self.driver = Driver(seed, self.model)
        self.safe = 0
        self.error: Exception | None = None
        self.states: dict[int, State] = {0: self.model.state()}
        self.store.start(self._committed, self._failed)

    def _committed(self, batch: int) -> None:
        self.safe = batch

    def _failed(self, error: Exception) -> None:
        self.error = error

    def turn(self) -> None:
        for _ in range(STEPS_A_TURN):
            self.driver.step(self.store.journal)
        self.states[self.store.journal.batch] = self.model.state()
        self.store.end_turn()

    def wait(self) -> None:
        """Until everything so far is safe."""
        journal = self.store.journal
        last = journal.batch if journal.dirty else journal.batch - 1

        def is_safe() -> bool:
            assert self.error is None, self.error
            if self.safe < last:
                self.store.end_turn()
            return self.safe >= last

        eventually(is_safe, pause=0)

    def kill(self, folder: Path) -> None:
        """What is on disk now is a state that was reported as safe, or a later one."""
        safe = self.safe
        is_idle = threading.Event()

        def copy() -> None:
            shutil.copytree(self.folder, folder)
            is_idle.set()

        self.store._writer.ask(copy)
        assert is_idle.wait(PATIENCE)
        again = SqliteStore(folder, "off")
        found = snapshot_state(whole(again))
        again.close()
        shutil.rmtree(folder)
        assert any(found == state for batch, state in self.states.items() if batch >= safe)

    def check_end(self) -> None:
        self.wait()
        self.store.close()
        again = SqliteStore(self.folder, "off")
        assert snapshot_state(whole(again)) == self.model.state()
        again.close()


def calls_of_a_run(folder: Path, seed: int) -> int:
    run = Run(folder, seed)
    for _ in range(STEPS // STEPS_A_TURN):
        run.turn()
        run.wait()
    run.check_end()
    return run.files.calls


Fault = Callable[[int, int, bool], int]


def once(bad: int, number: int, is_sync: bool) -> int:
    """One call fails, as a flaky disk's."""
    return (SYNC_FAILED if is_sync else WRITE_FAILED) if number == bad else 0


def for_a_while(bad: int, number: int, is_sync: bool) -> int:
    """The disk is full, and some tries later there is room again; syncs still work."""
    return FULL if bad <= number < bad + 5 and not is_sync else 0


@pytest.mark.parametrize("fault", [once, for_a_while])
@pytest.mark.parametrize("waits", [True, False], ids=["apart", "crowded"])
def test_a_disk_that_fails_at_every_call(tmp_path: Path, fault: Fault, waits: bool) -> None:
    seed = 17
    calls = calls_of_a_run(tmp_path / "recorded", seed)
    assert calls > 100
    for bad in range(1, calls + 1):
        run = Run(tmp_path / str(bad), seed)
        run.files.fails = lambda number, is_sync, bad=bad: fault(bad, number, is_sync)  # type: ignore[misc]
        for turn in range(STEPS // STEPS_A_TURN):
            run.turn()
            if turn % 5 == bad % 5:
                run.kill(tmp_path / "killed")
            if waits:
                run.wait()
        run.check_end()
        shutil.rmtree(run.folder)


class Gate:
    """A target whose writes the test lets go on, one by one."""

    def __init__(self) -> None:
        self.name = "the gate"
        self.begun = threading.Semaphore(0)
        self.go = threading.Semaphore(0)
        self.is_full = True
        self.written: list[Batch] = []

    def write(self, batch: Batch) -> None:
        self.begun.release()
        assert self.go.acquire(timeout=PATIENCE)
        if self.is_full:
            raise writer.NO_ROOM[0]("database or disk is full")
        self.written.append(batch)

    def tidy(self) -> bool:
        return False

    def failure(self, error: Exception) -> StoreError:
        raise error


def test_what_is_handed_over_during_a_retry_is_not_overwritten() -> None:
    """`takes` said yes while the batch waited; before the next one came, another try had begun."""
    gate = Gate()
    safe: list[int] = []
    journal = CollectingJournal(Index())
    kept = Writer(gate, journal)
    kept.start(safe.append, lambda error: None)
    journal.session_saved(SessionRecord("first", "", 1))
    kept.hand_over(journal.take())
    for _ in range(2):  # a try that fails, and the next one, which is under way
        assert gate.begun.acquire(timeout=PATIENCE)
        gate.go.release()
    assert gate.begun.acquire(timeout=PATIENCE)
    journal.session_saved(SessionRecord("second", "", 1))
    kept.hand_over(journal.take())
    gate.go.release()  # it finds no room once more
    assert gate.begun.acquire(timeout=PATIENCE)
    gate.is_full = False
    gate.go.release()
    kept.stop()
    assert safe == [2]
    assert kept.takes
    assert [row[1] for row in gate.written[0].rows[SESSION].puts.values()] == ["first", "second"]
