"""The guides as a site: every page is in it, and no link or anchor is dead."""

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.skipif(find_spec("material") is None, reason="needs mkdocs-material")
def test_the_site_builds_without_a_warning(tmp_path: Path) -> None:
    """`strict` in mkdocs.yml makes every warning an error."""
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--site-dir", str(tmp_path)],
        cwd=ROOT,
        env=os.environ | {"NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        timeout=110,
    )
    assert done.returncode == 0, done.stderr
    pages = {path.stem for path in (ROOT / "docs").glob("*.md")}
    assert pages <= {path.stem for path in tmp_path.glob("*.html")}
