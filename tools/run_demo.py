"""Starts the demonstration. Where the core is not compiled as it stands in the sources, that is
done beside it: nobody waits a minute for the compiler to see the product.

    python tools/run_demo.py
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tools import compile_core


def main() -> None:
    command = [str(Path(sys.executable).parent / "gossamer"), "demo"]
    if not compile_core.is_current():
        problem = compile_core.missing_tool()
        if problem:
            print(f"core: not compiled, {problem}; Gossamer runs from its sources, slower")
        else:
            command += ["--compile-with", compile_core.__file__]
        # Whatever lies beside the sources is not of them.
        os.environ["GOSSAMER_PURE"] = "1"
    os.execv(command[0], command + sys.argv[1:])


if __name__ == "__main__":
    main()
