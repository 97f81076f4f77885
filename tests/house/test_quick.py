"""`make quick`: which tests belong to a room, and to what has changed."""

import pytest

from tools.quick import folder_of, touched

CHANGED = [
    (["src/gossamer/session/session.py"], ["tests/session"]),
    (["src/gossamer/mesh/link.py", "src/gossamer/geo/glp.py"], ["tests/geo", "tests/mesh"]),
    (["src/gossamer_lab/trials/plan.py"], ["tests/lab/trials"]),
    (["tests/wire/test_frames.py"], ["tests/wire/test_frames.py"]),
    (["tests/wire/test_frames.py", "src/gossamer/wire/codec.py"], ["tests/wire"]),
    (["tools/quick.py", "Makefile"], ["tests/house"]),
    # No room: the package itself, a guide, a room without tests of its own, a test that is gone.
    (["src/gossamer/__init__.py", "docs/start.md", "tests/wire/test_gone.py"], []),
]  # fmt: skip


@pytest.mark.parametrize(("changed", "tested"), CHANGED)
def test_what_is_tested_after_a_change(changed: list[str], tested: list[str]) -> None:
    assert touched(changed) == tested


@pytest.mark.parametrize(
    ("room", "folder"),
    [("session", "tests/session"), ("lab/bench", "tests/lab/bench"), ("bench", "tests/lab/bench")],
)
def test_a_room_by_its_name(room: str, folder: str) -> None:
    assert folder_of(room) == folder


def test_an_unknown_room_is_named_with_those_that_there_are() -> None:
    with pytest.raises(SystemExit, match="no tests of 'attic'.*session"):
        folder_of("attic")
