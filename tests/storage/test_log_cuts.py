"""A power cut leaves any prefix of the write-ahead log; each must give a committed state."""

import shutil
from pathlib import Path

import pytest

from gossamer.storage.files import FILE_NAME, PAGE_BYTES
from gossamer.storage.sqlite_store import SqliteStore
from tests.support.store_driver import Driver
from tests.support.store_model import Model, State, snapshot_state
from tests.support.stores import SqliteUnderTest, whole

LOG_HEADER = 32  # bytes, as the file format of SQLite says
FRAME_HEADER = 24
FRAME = FRAME_HEADER + PAGE_BYTES


class Recording:
    """The files of a store as they were while it ran, and its state after each batch."""

    def __init__(self, folder: Path, seed: int, batches: int, steps: int) -> None:
        self.states: list[State] = []
        model = Model()
        driver = Driver(seed, model)
        self.states.append(model.state())
        store = SqliteUnderTest(folder / "live", "normal")
        for _ in range(batches):
            for _ in range(steps):
                driver.step(store.journal)
            store.commit()
            self.states.append(model.state())
        self.folder = folder
        self.main = (folder / "live" / FILE_NAME).read_bytes()
        self.log = (folder / "live" / f"{FILE_NAME}-wal").read_bytes()
        store.close()

    def state_at(self, length: int) -> State | None:
        """What a store finds after the log was cut; None if the tables themselves were not made."""
        folder = self.folder / "cut"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        (folder / FILE_NAME).write_bytes(self.main)
        (folder / f"{FILE_NAME}-wal").write_bytes(self.log[:length])
        store = SqliteStore(folder, "off")
        try:
            return snapshot_state(whole(store))
        finally:
            store.close()


@pytest.mark.parametrize("seed", [1, 2])
def test_every_page_boundary_gives_a_committed_state(tmp_path: Path, seed: int) -> None:
    recording = Recording(tmp_path, seed, batches=40, steps=12)
    frames = (len(recording.log) - LOG_HEADER) // FRAME
    assert frames > 40
    reached = 0
    for frame in range(frames + 1):
        state = recording.state_at(LOG_HEADER + frame * FRAME)
        while state != recording.states[reached]:
            reached += 1  # runs off the end if the state is no committed one, or an older one
    assert recording.states[reached] == recording.states[-1]


def test_a_cut_within_a_page_gives_a_committed_state(tmp_path: Path) -> None:
    recording = Recording(tmp_path, 3, batches=5, steps=10)
    for length in range(0, len(recording.log), 1009):
        assert recording.state_at(length) in recording.states


def test_a_page_of_the_log_that_was_never_written_ends_it(tmp_path: Path) -> None:
    recording = Recording(tmp_path, 4, batches=10, steps=10)
    whole = recording.log
    for start in range(LOG_HEADER, len(whole), FRAME):
        recording.log = whole[:start] + bytes(FRAME) + whole[start + FRAME :]
        assert recording.state_at(len(whole)) in recording.states
