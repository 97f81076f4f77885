"""Builds the wheels: one from the sources, for every machine, one with the compiled core, and the
laboratory's.

    python tools/build_wheels.py --out dist               all three
    python tools/build_wheels.py --out dist --pure        the one for every machine
    python tools/build_wheels.py --out dist --compiled    the one for machines like this
    python tools/build_wheels.py --out dist --lab         the laboratory's

The compiled wheel is the pure one with the compiled modules beside their sources and, where these
need it, the `librt` that they fit; the two cannot differ in anything else.
"""

import argparse
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from importlib.machinery import EXTENSION_SUFFIXES
from importlib.metadata import version
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tools import compile_core

# How a compiled module asks for a part of it.
LIBRT_IMPORT = b"librt."
# Where the laboratory's project is, of which the sources are in `src` as well.
LAB = "packaging/lab"


def pure_wheel(out: Path) -> Path:
    """The sources, without the compiled modules that may lie beside them."""
    return _built("", out)


def lab_wheel(out: Path) -> Path:
    """The laboratory: `src/gossamer_lab`, for every machine."""
    return _built(LAB, out)


def _built(project: str, out: Path) -> Path:
    """The wheel of the project in this folder of a copy that has the sources and nothing built."""
    with tempfile.TemporaryDirectory(prefix="gossamer-wheel-") as name:
        copy = Path(name) / "project"
        ignored = shutil.ignore_patterns("*.so", "*.pyd", "__pycache__", "*.egg-info")
        shutil.copytree(compile_core.SOURCES, copy / "src", ignore=ignored)
        (copy / LAB).mkdir(parents=True)
        for file in ("pyproject.toml", "README.md", "LICENSE", f"{LAB}/pyproject.toml"):
            shutil.copy2(compile_core.ROOT / file, copy / file)
        built = Path(name) / "wheels"
        _run(
            "-m",
            "pip",
            "wheel",
            "--quiet",
            "--no-deps",
            "--no-build-isolation",
            "--wheel-dir",
            str(built),
            str(copy / project),
        )
        out.mkdir(parents=True, exist_ok=True)
        return Path(shutil.copy2(next(built.glob("*.whl")), out))


def compiled_wheel(pure: Path, out: Path) -> Path:
    """The pure wheel with this machine's compiled modules in it, named for this machine."""
    if compile_core.compile_core(require=True):
        raise SystemExit("the core could not be compiled")
    python = f"cp{sys.version_info.major}{sys.version_info.minor}"
    platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
    with tempfile.TemporaryDirectory(prefix="gossamer-wheel-") as name:
        folder = Path(name)
        _run("-m", "wheel", "unpack", "--dest", name, str(pure))
        content = next(path for path in folder.iterdir() if path.is_dir())
        for module in compile_core.compiled_modules():
            shutil.copy2(module, content / module.relative_to(compile_core.SOURCES))
        _require(next(content.glob("*.dist-info")) / "METADATA", runtime_needs(content))
        about = next(content.glob("*.dist-info")) / "WHEEL"
        text = about.read_text().replace("Root-Is-Purelib: true", "Root-Is-Purelib: false")
        about.write_text(text.replace("Tag: py3-none-any", f"Tag: {python}-{python}-{platform}"))
        out.mkdir(parents=True, exist_ok=True)
        _run("-m", "wheel", "pack", "--dest-dir", str(out), str(content))
    return next(out.glob(f"*-{python}-{python}-{platform}.whl"))


def runtime_needs(folder: Path) -> list[str]:
    """What the compiled modules in a folder need beside what the sources do.

    mypyc's own runtime is inside of them, but for `librt`, which the sources import as well: but
    compiled, they fit no earlier version than that of the compiler that built them.
    """
    libraries = folder.glob(f"*__mypyc{EXTENSION_SUFFIXES[0]}")
    if not any(LIBRT_IMPORT in path.read_bytes() for path in libraries):
        return []
    return [f"librt>={version('librt')}"]


def _require(metadata: Path, needs: list[str]) -> None:
    """Writes the needs after the headers that are there; the description follows an empty line."""
    head, empty, rest = metadata.read_text().partition("\n\n")
    lines = [head, *(f"Requires-Dist: {need}" for need in needs)]
    metadata.write_text("\n".join(lines) + empty + rest)


def _run(*arguments: str) -> None:
    subprocess.run([sys.executable, *arguments], check=True, stdout=subprocess.DEVNULL)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--out", type=Path, default=Path("dist"), help="where the wheels go")
    choice = parser.add_mutually_exclusive_group()
    choice.add_argument("--pure", action="store_true", help="only the one for every machine")
    choice.add_argument("--compiled", action="store_true", help="only the one for this machine")
    choice.add_argument("--lab", action="store_true", help="only the laboratory's")
    wish = parser.parse_args()
    if not wish.lab:
        with tempfile.TemporaryDirectory(prefix="gossamer-wheel-") as name:
            pure = pure_wheel(Path(name) if wish.compiled else wish.out)
            if not wish.compiled:
                print(pure)
            if not wish.pure:
                print(compiled_wheel(pure, wish.out))
    if not (wish.pure or wish.compiled):
        print(lab_wheel(wish.out))


if __name__ == "__main__":
    main()
