"""Compiles the core with mypyc, in place: each compiled module lies beside its source.

Nothing is built when the sources are those of the last build (a digest of them is kept), and a
machine without a C compiler goes on with the sources: the package works either way, and the script
says which it is. How it is built is in `core_build.py`.

    python tools/compile_core.py            compile what has changed
    python tools/compile_core.py --require  the same, and fail where it cannot compile
    python tools/compile_core.py --clean    remove every compiled module
    python tools/compile_core.py --check    is what lies there true to the sources?
"""

import argparse
import hashlib
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import time
from importlib.machinery import EXTENSION_SUFFIXES
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SOURCES = ROOT / "src"
PACKAGE = SOURCES / "gossamer"
DIGEST = SOURCES / ".compiled-core"
# Object files of earlier builds, by what made them.
KEPT = ROOT / "build" / "core"

ROOMS = ("budget", "wire", "topics", "bloom", "geo", "plus", "session", "broker", "client", "mesh")
FILES = (
    # What every message of a session that lasts passes.
    "archive/collector.py",
    "storage/schema.py",
    "storage/rows.py",
    "storage/lane_inflight.py",
    "storage/index.py",
    "storage/batch.py",
    "storage/journal.py",
    "storage/load.py",
    "storage/memory_journal.py",
    "storage/unread.py",
    "storage/sqlite_store.py",
    "net/clock.py",
    "net/turns.py",
    "net/socket_transport.py",
    "net/epoll_sockets.py",
    "net/transport.py",
    "sim/timeline.py",
    "sim/network.py",
    "sim/known_links.py",
    "sim/host.py",
    "sim/cable.py",
    "sim/crowd.py",
)


def compiled_sources() -> list[Path]:
    """The files that are compiled; an ``__init__`` only has a docstring and stays as it is."""
    found = [
        path
        for room in ROOMS
        for path in sorted((PACKAGE / room).rglob("*.py"))
        if path.name != "__init__.py"
    ]
    return found + [PACKAGE / name for name in FILES if (PACKAGE / name).exists()]


def digest() -> str:
    """Identifies the build that these sources, this Python and these tools would make."""
    state = hashlib.sha256(f"{sys.version}\0{_compiler_version()}".encode())
    for path in sorted(Path(__file__).parent.glob("*core*.py")):
        state.update(path.read_bytes())
    for path in compiled_sources():
        state.update(str(path.relative_to(SOURCES)).encode() + b"\0" + path.read_bytes() + b"\0")
    return state.hexdigest()


def _compiler_version() -> str:
    try:
        return version("mypy")
    except PackageNotFoundError:
        return ""


def compiled_modules() -> list[Path]:
    suffix = EXTENSION_SUFFIXES[0]
    return [*SOURCES.glob(f"*__mypyc{suffix}"), *PACKAGE.rglob(f"*{suffix}")]


def is_current() -> bool:
    return bool(compiled_modules()) and DIGEST.exists() and DIGEST.read_text() == digest()


def stale_reason() -> str:
    """Why compiled modules would hide the sources; empty if they do not."""
    if not compiled_modules() or is_current():
        return ""
    return "compiled modules are older than their sources: run `make compile` or `make clean-core`"


def clean() -> None:
    for path in [*compiled_modules(), DIGEST]:
        path.unlink(missing_ok=True)


def missing_tool() -> str:
    """What this machine lacks for a build; empty if it lacks nothing."""
    compiler = (os.environ.get("CC") or sysconfig.get_config_var("CC") or "cc").split()[0]
    if shutil.which(compiler) is None:
        return f"there is no C compiler ({compiler})"
    if not (Path(sysconfig.get_paths()["include"]) / "Python.h").exists():
        return "Python.h is missing (the package python3-dev has it)"
    try:
        import mypyc.build  # noqa: F401
    except ImportError:
        return "mypyc is not installed (pip install 'mypy[mypyc]')"
    return ""


def build(folder: Path) -> None:
    """Leaves the compiled modules below ``folder``."""
    sys.path.insert(0, str(ROOT))
    from tools import core_build

    try:
        core_build.build(SOURCES, compiled_sources(), ROOT / "pyproject.toml", KEPT, folder)
    except core_build.BuildError as error:
        raise SystemExit(str(error)) from None


def compile_in_place() -> str:
    """Builds in a process of its own and copies the result; returns what went wrong, or nothing."""
    wanted = digest()
    with tempfile.TemporaryDirectory(prefix="gossamer-core-") as name:
        folder = Path(name)
        command = [sys.executable, __file__, "--build-in", name]
        done = subprocess.run(command, stdin=subprocess.DEVNULL, check=False)
        modules = sorted(folder.rglob(f"*{EXTENSION_SUFFIXES[0]}"))
        if done.returncode != 0 or not modules:
            return f"the build ended with exit code {done.returncode}"
        clean()
        for module in modules:
            target = SOURCES / module.relative_to(folder)
            # A new inode: a running broker keeps the module that it has mapped.
            shutil.copy2(module, target.with_suffix(".new"))
            target.with_suffix(".new").replace(target)
    DIGEST.write_text(wanted)
    return ""


def compile_core(*, require: bool) -> int:
    if not compiled_sources() or is_current():
        print("core: compiled, up to date")
        return 0
    problem = missing_tool()
    if not problem:
        print(f"core: compiling {len(compiled_sources())} modules with mypyc …", flush=True)
        start = time.monotonic()
        problem = compile_in_place()
        if not problem:
            print(f"core: compiled in {time.monotonic() - start:.0f} s")
            return 0
    clean()
    print(f"core: NOT compiled, {problem}; Gossamer runs from its sources, slower", file=sys.stderr)
    return 1 if require else 0


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    choice = parser.add_mutually_exclusive_group()
    choice.add_argument("--require", action="store_true", help="fail where it cannot compile")
    choice.add_argument("--clean", action="store_true", help="remove every compiled module")
    choice.add_argument("--check", action="store_true", help="fail if compiled modules are stale")
    choice.add_argument("--build-in", type=Path, help=argparse.SUPPRESS)
    wish = parser.parse_args()
    if wish.build_in is not None:
        build(wish.build_in)
        # To take mypy's trees apart, object by object, would take two seconds.
        sys.stdout.flush()
        os._exit(0)
    elif wish.clean:
        clean()
    elif wish.check:
        reason = stale_reason()
        if reason:
            print(reason, file=sys.stderr)
        return 1 if reason else 0
    else:
        return compile_core(require=wish.require)
    return 0


if __name__ == "__main__":
    sys.exit(main())
