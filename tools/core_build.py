"""Builds the compiled core: mypyc writes C, and what changed of it is compiled, as many at a time
as there are processors.

All modules are one group, so that calls between rooms are C calls inside of one library; beside
each source lies a small module that only starts its part of it. Object files are kept in
``build/core`` under the digest of what made them. A whole build takes most of a minute on two
processors; after an edit of one file, only the units that see the difference are compiled.
"""

import hashlib
import os
import shlex
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path

from tools.core_units import stand_alone

GROUP = "gossamer_core"
LIBRARY = f"{GROUP}__mypyc"
SUFFIX = EXTENSION_SUFFIXES[0]

# No debug information: it would make the build three times as long and nobody steps through it.
C_FLAGS = ("-DNDEBUG", "-fvisibility=hidden", "-g0", "-w")
# The rooms that every message passes; the others are compiled in two thirds of the time.
HOT_ROOMS = ("budget", "wire", "topics", "bloom", "plus", "session", "broker", "net")
HOT, COLD = "-O3", "-O1"
# Object files of other states of the sources that are kept: enough to go back and forth.
KEPT_OBJECTS = 2000

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
        compiler = _Compiler(kept, runtime)
        units = stand_alone(folder / "c", GROUP)
        work = [(unit, text, _level(unit)) for unit, text in units.items()]
        work += [(file, f"#include <{file}>\n", HOT) for file in extra]
        folders: dict[Path, list[str]] = {}
        for path in paths:
            folders.setdefault(path.relative_to(sources).parent, []).append(path.stem)
        shims = [(str(place), _shim(place, stems), COLD) for place, stems in folders.items()]
        made = compiler.compile_all(work + shims)
        compiler.link([made[unit] for unit, _, _ in work], out / f"{LIBRARY}{SUFFIX}")
        for place, stems in folders.items():
            # One file starts every module of a folder: Python picks the entry by the file's name.
            first, *others = (out / place / f"{stem}{SUFFIX}" for stem in stems)
            compiler.link([made[str(place)]], first)
            for other in others:
                other.write_bytes(first.read_bytes())
        compiler.forget_old()


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
    command = ["--config-file", str(config), "--cache-dir", os.devnull, *names]
    _, _, needed = mypyc_build(command, options, only_compile_paths=names)
    return Path(include_dir()), [*RUNTIME_C_FILES, *(file.path for file in needed)]


def _level(unit: str) -> str:
    """How far a unit is optimised: by its room."""
    parts = unit.split("___")
    return HOT if len(parts) > 1 and parts[1] in HOT_ROOMS else COLD


def _shim(place: Path, stems: Sequence[str]) -> str:
    package = "___".join(place.parts)
    entries = (
        _SHIM_ENTRY.format(name=stem, full=f"{package}___{stem}", library=LIBRARY) for stem in stems
    )
    return _SHIM.format(library=LIBRARY) + "".join(entries)


class _Compiler:
    """The C compiler that built Python, with a store of what it made."""

    def __init__(self, kept: Path, runtime: Path) -> None:
        usual = shlex.split(sysconfig.get_config_var("CC") or "cc")
        compiler = shlex.split(os.environ.get("CC", "")) or usual
        linker = shlex.split(sysconfig.get_config_var("LDSHARED") or "cc -shared")
        self._linker = [*compiler, *linker[len(usual) :]]
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
        self._kept = kept
        kept.mkdir(parents=True, exist_ok=True)
        base = hashlib.sha256(repr((self._command, sys.version)).encode())
        base.update(_run([*compiler, "--version"]))
        for header in sorted(runtime.rglob("*.[ch]")):
            base.update(header.read_bytes())
        self._base = base

    def compile_all(self, work: Sequence[tuple[str, str, str]]) -> dict[str, Path]:
        """The object file of each unit (its name, its C, its level of optimisation), by name."""
        longest_first = sorted(work, key=lambda unit: len(unit[1]), reverse=True)
        with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
            made = pool.map(lambda unit: self._object(unit[1], unit[2]), longest_first)
            return {unit[0]: path for unit, path in zip(longest_first, made, strict=True)}

    def _object(self, text: str, level: str) -> Path:
        state = self._base.copy()
        state.update(f"{level}\0{text}".encode())
        path = self._kept / f"{state.hexdigest()}.o"
        if path.exists():
            path.touch()
            return path
        with tempfile.TemporaryDirectory(dir=self._kept) as name:
            source, made = Path(name) / "unit.c", Path(name) / "unit.o"
            source.write_text(text)
            _run([*self._command, level, "-c", str(source), "-o", str(made)])
            made.replace(path)
        return path

    def link(self, objects: Sequence[Path], target: Path) -> None:
        target.parent.mkdir(parents=True, exist_ok=True)
        _run([*self._linker, *map(str, objects), "-o", str(target)])

    def forget_old(self) -> None:
        """Keeps the object files that were used last."""
        used = sorted(self._kept.glob("*.o"), key=lambda path: path.stat().st_mtime, reverse=True)
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
