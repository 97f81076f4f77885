"""The build of the core: modules that call each other in C, and little to do after an edit."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tools import compile_core, core_build
from tools.build_wheels import runtime_needs
from tools.core_units import Declarations, UnexpectedC

pytestmark = pytest.mark.skipif(
    bool(compile_core.missing_tool()), reason=compile_core.missing_tool() or "can compile"
)

SCALARS = """\
class Counter:
    def __init__(self) -> None:
        self.count = 0

    def add(self, more: int) -> int:
        self.count += more
        return self.count
"""
PACKETS = """\
from gossamer.wire.scalars import Counter

def told(counter: Counter) -> str:
    return "there are " + str(counter.add(2)) + " of them"
"""
EDITED = PACKETS.replace("there are", "now there are")
RUN = """\
import gossamer.wire.packets as packets, gossamer.wire.scalars as scalars
assert packets.__file__.endswith(".so") and scalars.__file__.endswith(".so")
print(packets.told(scalars.Counter()))
"""


@pytest.fixture
def house(tmp_path: Path) -> Path:
    """The tools beside a package of two modules."""
    (tmp_path / "tools").symlink_to(compile_core.ROOT / "tools")
    (tmp_path / "pyproject.toml").write_text("[tool.mypy]\nstrict = true\n")
    package = tmp_path / "src" / "gossamer"
    (package / "wire").mkdir(parents=True)
    (package / "__init__.py").write_text("")
    (package / "wire" / "__init__.py").write_text("")
    (package / "wire" / "scalars.py").write_text(SCALARS)
    (package / "wire" / "packets.py").write_text(PACKETS)
    return tmp_path


def build(house: Path, cflags: str = "-O0") -> subprocess.CompletedProcess[str]:
    code = (
        "import pathlib; from tools import compile_core as c; r = pathlib.Path.cwd(); "
        "c.ROOT = r; c.SOURCES = r / 'src'; c.PACKAGE = r / 'src/gossamer'; "
        "c.KEPT = r / 'build'; c.build(r / 'out')"
    )
    return subprocess.run(
        [sys.executable, "-c", code],
        cwd=house,
        env={**os.environ, "CFLAGS": cflags, "PYTHONPATH": str(compile_core.ROOT)},
        capture_output=True,
        text=True,
        timeout=110,
    )


def told(house: Path, code: str = RUN) -> str:
    for source in (house / "src").rglob("*.py"):
        copy = house / "out" / source.relative_to(house / "src")
        copy.write_text(source.read_text())
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={
            **os.environ,
            "PYTHONPATH": str(house / "out"),
            "GOSSAMER_PURE": "0",
            "PYTHONMALLOC": "debug",  # writing outside of an object ends the process
        },
        capture_output=True,
        text=True,
        timeout=60,
    )
    return done.stdout.strip() or done.stderr


def objects(house: Path) -> set[str]:
    return {path.name for path in (house / "build").glob("*.o")}


def test_an_edit_compiles_what_it_changes(house: Path) -> None:
    done = build(house)
    assert done.returncode == 0, done.stdout + done.stderr
    assert told(house) == "there are 2 of them"
    before = objects(house)

    (house / "src" / "gossamer" / "wire" / "packets.py").write_text(EDITED)
    assert build(house).returncode == 0
    assert told(house) == "now there are 2 of them"
    # The module itself, and the unit that holds the literals of all.
    assert len(objects(house) - before) == 2

    assert build(house, "-O0 -DSOMETHING_ELSE").returncode == 0
    assert len(objects(house)) >= 2 * len(before), "other flags make other object files"


WRITER = """\
from librt.strings import BytesWriter

def told(counter: object) -> str:
    writer = BytesWriter()
    writer.append(104)
    return writer.getvalue().decode()
"""


def test_a_wheel_of_modules_that_use_librt_names_it(house: Path) -> None:
    assert build(house).returncode == 0
    assert runtime_needs(house / "out") == []
    (house / "src" / "gossamer" / "wire" / "packets.py").write_text(WRITER)
    done = build(house)
    assert done.returncode == 0, done.stdout + done.stderr
    [need] = runtime_needs(house / "out")
    assert need.startswith("librt>=")


def test_the_compiler_s_own_words_are_told(house: Path) -> None:
    done = build(house, "-nonsense")
    assert done.returncode != 0
    assert "nonsense" in done.stderr


WARNED = (
    PACKETS
    + """
def both(text: str) -> int:
    one, two = (int(part) for part in text.split(";"))
    return one + two
"""
)


def test_a_warning_of_mypyc_ends_the_build(house: Path) -> None:
    (house / "src" / "gossamer" / "wire" / "packets.py").write_text(WARNED)
    done = build(house)
    assert done.returncode != 0
    assert "packets.py:7: warning: Treating generator" in done.stderr


def test_an_error_of_mypyc_is_told(house: Path) -> None:
    (house / "src" / "gossamer" / "wire" / "packets.py").write_text("told: int = 'one'\n")
    done = build(house)
    assert done.returncode != 0
    assert "Incompatible types in assignment" in done.stderr


TYPES = """\
#ifndef MYPYC_NATIVE_core_H
#define MYPYC_NATIVE_core_H
#include <Python.h>
#ifndef MYPYC_DECLARED_tuple_T1I
#define MYPYC_DECLARED_tuple_T1I
typedef struct tuple_T1I {
    CPyTagged f0;
} tuple_T1I;
#endif

typedef struct {
    PyObject_HEAD
    tuple_T1I _place;
} core___ThingObject;

typedef struct {
    PyObject_HEAD
} core___OtherObject;
#endif
"""
FUNCTIONS = """\
#include "__native_core.h"

int CPyGlobalsInit(void);

extern PyObject *CPyDef_core___make(core___ThingObject *thing);
extern PyObject *CPyDef_core___unused(void);
"""


def test_a_unit_gets_what_it_names_and_what_that_names() -> None:
    declared = Declarations(TYPES, FUNCTIONS)
    assert declared.head == "#include <Python.h>\n"
    needed = declared.needed_by("x = CPyDef_core___make(y);")
    for name in ("tuple_T1I;", "core___ThingObject;", "CPyDef_core___make("):
        assert name in needed
    for name in ("core___OtherObject", "CPyDef_core___unused", "__native_core.h"):
        assert name not in needed


def test_what_is_not_known_is_refused() -> None:
    with pytest.raises(UnexpectedC, match="union surprise"):
        Declarations(TYPES, FUNCTIONS + "union surprise { int a; };\n")


def test_what_is_compiled_for_speed_is_there() -> None:
    """A renamed module would fall out of the table without a word, and cost every message."""
    rooms = Path(core_build.__file__).parent.parent / "src" / "gossamer"
    for part in core_build.HOT_PARTS:
        module = rooms.joinpath(*part.split("."))
        assert module.is_dir() or module.with_suffix(".py").is_file(), part


ACYCLIC = """\
from mypy_extensions import mypyc_attr

@mypyc_attr(acyclic=True)
class Counter:
    def __init__(self) -> None:
        self.name = b"some bytes"

    def add(self, more: int) -> int:
        return more
"""
NESTED = """\
import gc
import gossamer.wire.scalars as scalars
assert scalars.__file__.endswith(".so") and not gc.is_tracked(scalars.Counter())
for depth in range(120):
    nest = scalars.Counter()
    for _ in range(depth):
        nest = [nest]
    del nest
print("all freed")
"""


def test_acyclic_objects_are_freed_at_any_depth(house: Path) -> None:
    """Past fifty levels Python postpones the freeing by writing into the collector's head."""
    (house / "src" / "gossamer" / "wire" / "scalars.py").write_text(ACYCLIC)
    done = build(house)
    assert done.returncode == 0, done.stdout + done.stderr
    assert told(house, NESTED) == "all freed"
