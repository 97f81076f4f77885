"""Builds the compiled core: mypyc writes C, and what changed of it is compiled, as many at a time
as there are processors.

All modules are one group, so that calls between rooms are C calls inside of one library; beside
each source lies a small module that only starts its part of it. What the C compiler made is kept in
``build/core`` under the digest of what it was made of: after an edit of one file, only the units
that see the difference are compiled. What mypyc warns of ends the build.
"""

import contextlib
import hashlib
import io
import os
import shlex
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from enum import Enum
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path

from tools.core_units import stand_alone

GROUP = "gossamer_core"
LIBRARY = f"{GROUP}__mypyc"
SUFFIX = EXTENSION_SUFFIXES[0]

# No debug information: it would make the build three times as long and nobody steps through it.
C_FLAGS = ("-DNDEBUG", "-fvisibility=hidden", "-g0", "-w")
# What every message passes, by room or by module; the rest takes two thirds of the time.
HOT_PARTS = frozenset(
    (
        *("budget", "wire", "topics", "bloom", "session", "archive", "storage", "net"),
        *("broker.archive_port", "broker.broker", "broker.client_topics", "broker.connection"),
        *("broker.core", "broker.delivery", "broker.dispatch", "broker.keep_alive"),
        *("broker.memory_report", "broker.operators", "broker.policy", "broker.publish"),
        *("broker.publish_from_neighbour", "broker.publish_bursts", "broker.rates"),
        *("broker.retained", "broker.retained_delivery", "broker.revocation", "broker.routes"),
        *("broker.loop_turns", "broker.timers"),
        *("plus.engine", "plus.filter_operator", "plus.operators", "plus.plan"),
        *("plus.publication", "plus.rules", "plus.sequence", "plus.spatial", "plus.stages"),
        *("plus.state", "plus.temporal", "plus.values"),
    )
)
HOT, COLD = "-O3", "-O1"
# What runs once, at the import, in functions of ten thousand lines: seconds for nothing.
ONCE = "-O0"
# Object files of other states of the sources that are kept: enough to go back and forth.
KEPT_OBJECTS = 2000
# The head of Python and mypyc takes 40 ms to read, a translated one 10, and its translation 130.
WORTH_A_HEAD = 5

_SHIM = """\
#include <Python.h>
static PyObject *start(const char *attribute, const char *capsule_name)
{{
    PyObject *library = PyImport_ImportModule("{library}");
    if (library == NULL) return NULL;
    PyObject *capsule = PyObject_GetAttrString(library, attribute);
    Py_DECREF(library);
    if (capsule == NULL) return NULL;
    PyObject *(*init)(void) = (PyObject *(*)(void))PyCapsule_GetPointer(capsule, capsule_name);
    Py_DECREF(capsule);
    return init == NULL ? NULL : init();
}}
"""
_SHIM_ENTRY = """\
PyMODINIT_FUNC PyInit_{name}(void) {{ return start("init_{full}", "{library}.init_{full}"); }}
"""


class BuildError(Exception):
    """A tool failed; its own words are in the message."""


def build(sources: Path, paths: Sequence[Path], config: Path, kept: Path, out: Path) -> None:
    """Compiles the files at ``paths``, and leaves the modules in ``out`` as below ``sources``."""
    with tempfile.TemporaryDirectory(prefix="gossamer-core-") as name:
        folder = Path(name)
        runtime, extra = _generate(sources, paths, config, folder / "c")
        head, units = stand_alone(folder / "c", GROUP)
        compiler = _Compiler(kept, runtime, head)
        work = [_Unit(unit, text, _level(unit), Kind.UNIT) for unit, text in units.items()]
        work += [_Unit(file, f"#include <{file}>\n", HOT, Kind.RUNTIME) for file in extra]
        folders: dict[Path, list[str]] = {}
        for path in paths:
            folders.setdefault(path.relative_to(sources).parent, []).append(path.stem)
        shims = [
            _Unit(str(place), _shim(place, stems), ONCE, Kind.MODULE)
            for place, stems in folders.items()
        ]
        made = compiler.make_all(work + shims)
        compiler.link([made[unit.name] for unit in work], out / f"{LIBRARY}{SUFFIX}")
        for place, stems in folders.items():
            # One file starts every module of a folder: Python picks the entry by the file's name.
            (out / place).mkdir(parents=True, exist_ok=True)
            for stem in stems:
                shutil.copyfile(made[str(place)], out / place / f"{stem}{SUFFIX}")
        compiler.forget_old()


class Kind(Enum):
    """What the C compiler makes of a unit."""

    UNIT = "an object file of what mypyc wrote"
    RUNTIME = "an object file of mypyc's own C"
    MODULE = "a module that Python imports"


@dataclass(frozen=True)
class _Unit:
    name: str
    text: str
    level: str
    kind: Kind


def _generate(
    sources: Path, paths: Sequence[Path], config: Path, target: Path
) -> tuple[Path, list[str]]:
    """Has mypyc write C to ``target``; where its runtime library is, and which files of it."""
    from mypyc.build import include_dir, mypyc_build
    from mypyc.common import RUNTIME_C_FILES
    from mypyc.options import CompilerOptions

    os.chdir(sources)
    names = [str(path.relative_to(sources)) for path in paths]
    options = CompilerOptions(multi_file=True, target_dir=str(target), group_name=GROUP)
    # No cache of types: it would only save those of the standard library, and saves nothing.
    command = ["--config-file", str(config), "--cache-dir", os.devnull, *names]
    said = io.StringIO()
    try:
        with contextlib.redirect_stdout(said):
            _, _, needed = mypyc_build(command, options, only_compile_paths=names)
    except SystemExit:
        raise BuildError(f"mypyc refuses the sources:\n{said.getvalue()}") from None
    if ": warning: " in said.getvalue():
        raise BuildError(f"mypyc would make something else of it:\n{said.getvalue()}")
    return Path(include_dir()), [*RUNTIME_C_FILES, *(file.path for file in needed)]


def _level(unit: str) -> str:
    """How far a unit is optimised: by its room or its module."""
    if unit == GROUP:
        return ONCE
    parts = unit.split("___")[1:]
    return HOT if {parts[0], ".".join(parts[:2])} & HOT_PARTS else COLD


def _shim(place: Path, stems: Sequence[str]) -> str:
    package = "___".join(place.parts)
    entries = (
        _SHIM_ENTRY.format(name=stem, full=f"{package}___{stem}", library=LIBRARY) for stem in stems
    )
    return _SHIM.format(library=LIBRARY) + "".join(entries)


class _Compiler:
    """The C compiler that built Python, with a store of what it made."""

    def __init__(self, kept: Path, runtime: Path, head: str) -> None:
        usual = shlex.split(sysconfig.get_config_var("CC") or "cc")
        compiler = shlex.split(os.environ.get("CC", "")) or usual
        linker = shlex.split(sysconfig.get_config_var("LDSHARED") or "cc -shared")
        self._shared = linker[len(usual) :]
        self._command = [
            *compiler,
            *shlex.split(sysconfig.get_config_var("CFLAGS") or ""),
            *shlex.split(sysconfig.get_config_var("CCSHARED") or "-fPIC"),
            *C_FLAGS,
            *shlex.split(os.environ.get("CFLAGS", "")),
            f"-I{runtime}",
            f"-I{sysconfig.get_paths()['include']}",
            f"-I{sysconfig.get_paths()['platinclude']}",
        ]
        self._compiler = compiler
        self._kept = kept
        self._head = head
        kept.mkdir(parents=True, exist_ok=True)
        base = hashlib.sha256(repr((self._command, self._shared, head, sys.version)).encode())
        base.update(_run([*compiler, "--version"]))
        for header in sorted(runtime.rglob("*.[ch]")):
            base.update(header.read_bytes())
        self._base = base

    def make_all(self, work: Sequence[_Unit]) -> dict[str, Path]:
        """What is made of each unit, by its name."""
        made = {unit.name: self._place(unit) for unit in work}
        missing = [unit for unit in work if not made[unit.name].exists()]
        # The longest first, so that no processor is left with one at the end.
        missing.sort(key=lambda unit: len(unit.text), reverse=True)
        with (
            tempfile.TemporaryDirectory(dir=self._kept) as name,
            ThreadPoolExecutor(os.cpu_count() or 1) as pool,
        ):
            heads = {unit.level: Path(name) / f"head{unit.level}.h" for unit in missing}
            list(pool.map(lambda level: self._write_head(heads[level], level, missing), heads))

            def make(at: int, unit: _Unit) -> None:
                source, target = Path(name) / f"{at}.c", Path(name) / f"{at}.made"
                source.write_text(unit.text)
                self._make(unit, source, heads[unit.level], target)
                target.replace(made[unit.name])

            list(pool.map(make, range(len(missing)), missing))
        for path in made.values():
            path.touch()
        return made

    def _place(self, unit: _Unit) -> Path:
        state = self._base.copy()
        state.update(f"{unit.level}\0{unit.text}".encode())
        return self._kept / f"{state.hexdigest()}{SUFFIX if unit.kind is Kind.MODULE else '.o'}"

    def _write_head(self, path: Path, level: str, missing: Sequence[_Unit]) -> None:
        """Writes what all units include, and translates it if enough of them will read it."""
        path.write_text(self._head)
        readers = sum(unit.level == level and unit.kind is Kind.UNIT for unit in missing)
        if readers >= WORTH_A_HEAD:
            _run([*self._command, level, "-x", "c-header", str(path), "-o", f"{path}.gch"])

    def _make(self, unit: _Unit, source: Path, head: Path, target: Path) -> None:
        if unit.kind is Kind.MODULE:
            tail = [*self._shared, str(source), "-o", str(target)]
        else:
            tail = ["-c", str(source), "-o", str(target)]
        headed = ["-include", str(head)] if unit.kind is Kind.UNIT else []
        _run([*self._command, unit.level, *headed, *tail])

    def link(self, objects: Sequence[Path], target: Path) -> None:
        target.parent.mkdir(parents=True, exist_ok=True)
        _run([*self._compiler, *self._shared, *map(str, objects), "-o", str(target)])

    def forget_old(self) -> None:
        """Keeps what was used last."""
        used = [path for path in self._kept.iterdir() if path.is_file()]
        used.sort(key=lambda path: path.stat().st_mtime, reverse=True)
        for path in used[KEPT_OBJECTS:]:
            path.unlink(missing_ok=True)


def _run(command: Sequence[str]) -> bytes:
    done = subprocess.run(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    if done.returncode:
        said = done.stdout.decode(errors="replace").strip()
        raise BuildError(f"{command[0]} ended with exit code {done.returncode}:\n{said}")
    return done.stdout
