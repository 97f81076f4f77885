"""A standalone Spark cluster on this machine, from the pip package: a master and a worker."""

import os
import re
import sys
import time
from pathlib import Path
from typing import Final

import pyspark

import gossamer
from gossamer.spark.java import java_home
from gossamer_lab.torture.processes import Program, below, command_of

START_SECONDS: Final = 120.0
_POLL_SECONDS: Final = 0.1
_DEPLOY: Final = "org.apache.spark.deploy"
_LOOPBACK: Final = ("--host", "127.0.0.1", "--port", "0", "--webui-port", "0")
_SIZE: Final = ("--cores", "2", "--memory", "2g")
_URL: Final = re.compile(r"Starting Spark master at (spark://127\.0\.0\.1:\d+)")
_REGISTERED: Final = re.compile("Registering worker")
_EXECUTOR: Final = "CoarseGrainedExecutorBackend"
_PYTHON: Final = "pyspark.daemon"


class ClusterDied(Exception):
    """Spark does not do what it should; the text says what it last said."""


class Cluster:
    """Executors work under `folder`; they find this package where this process does."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.environment = {
            "JAVA_HOME": java_home(folder / "java"),
            "PYSPARK_PYTHON": sys.executable,
            "PYTHONPATH": _with(str(Path(gossamer.__file__).parent.parent)),
            "SPARK_HOME": str(Path(pyspark.__file__).parent),
            "SPARK_LOCAL_IP": "127.0.0.1",
        }
        self._master = self._program("master", f"{_DEPLOY}.master.Master", *_LOOPBACK)
        self._worker: Program | None = None
        self.url = ""

    def start(self) -> None:
        """Raises ClusterDied."""
        self._master.start()
        self.url = _heard(self._master, _URL)
        work = str(self._folder / "work")
        arguments = (*_LOOPBACK, *_SIZE, "--work-dir", work, self.url)
        self._worker = self._program("worker", f"{_DEPLOY}.worker.Worker", *arguments)
        self._worker.start()
        _heard(self._master, _REGISTERED)

    def executors(self) -> list[int]:
        """The Java processes that run tasks."""
        return self._below(_EXECUTOR)

    def python_workers(self) -> list[int]:
        """The Python processes that read for them."""
        return self._below(_PYTHON)

    def stop(self) -> None:
        if self._worker is not None:
            self._worker.stop()
        self._master.stop()

    def _below(self, word: str) -> list[int]:
        assert self._worker is not None
        return [pid for pid in below(self._worker.pid) if word in command_of(pid)]

    def _program(self, name: str, kind: str, *arguments: str) -> Program:
        script = str(Path(self.environment["SPARK_HOME"]) / "bin" / "spark-class")
        log = self._folder / f"{name}.log"
        return Program([script, kind, *arguments], log, self.environment)


def _with(path: str) -> str:
    known = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    return os.pathsep.join([path, *(one for one in known if one and one != path)])


def _heard(program: Program, pattern: re.Pattern[str]) -> str:
    deadline = time.monotonic() + START_SECONDS
    while (found := pattern.search(program.said())) is None:
        if program.exit_code is not None or time.monotonic() > deadline:
            raise ClusterDied(f"Spark did not start: {program.last_words()}")
        time.sleep(_POLL_SECONDS)
    return found.group(found.re.groups)
