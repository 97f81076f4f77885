"""A standalone Spark cluster on loopback, from the pip package: a master and two workers."""

import os
import re
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from gossamer.spark.session import prepare
from tests.support.processes import stop

PATIENCE = 120.0  # seconds; two Java machines that start on a busy computer take them
_MASTER = re.compile(r"Starting Spark master at (spark://127\.0\.0\.1:\d+)")
_LOOPBACK = ("--host", "127.0.0.1", "--port", "0", "--webui-port", "0")


@contextmanager
def spark_program(name: str, log: Path, *arguments: str) -> Iterator[None]:
    """A class of Spark's, without this package on its way; what it says is in the log."""
    import pyspark

    prepare()
    home = Path(pyspark.__file__).parent
    hidden = ("PYTHONPATH", "PYTHONDONTWRITEBYTECODE", "SPARK_HOME")
    env = {key: value for key, value in os.environ.items() if key not in hidden}
    with log.open("wb") as file:
        process = subprocess.Popen(
            [str(home / "bin" / "spark-class"), name, *arguments],
            cwd=log.parent,
            env={**env, "SPARK_HOME": str(home), "SPARK_LOCAL_IP": "127.0.0.1"},
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=subprocess.STDOUT,
        )
    try:
        yield
    finally:
        stop(process)


def said(log: Path, pattern: re.Pattern[str], count: int = 1) -> list[str]:
    """What the pattern finds in the log, once it is there so often."""
    deadline = time.monotonic() + PATIENCE
    while len(found := pattern.findall(log.read_text(errors="replace"))) < count:
        assert time.monotonic() < deadline, f"{log.read_text(errors='replace')[-2000:]}"
        time.sleep(0.1)
    return found


@contextmanager
def spark_cluster(folder: Path) -> Iterator[str]:
    """Yields the master's URL. Executors work under `folder`/work."""
    log = folder / "master.log"
    deploy = "org.apache.spark.deploy"
    with ExitStack() as running:
        running.enter_context(spark_program(f"{deploy}.master.Master", log, *_LOOPBACK))
        [url] = said(log, _MASTER)
        for number in range(2):
            size = ("--cores", "1", "--memory", "1g", "--work-dir", str(folder / "work"))
            worker = (f"{deploy}.worker.Worker", folder / f"worker{number}.log")
            running.enter_context(spark_program(*worker, *_LOOPBACK, *size, url))
        said(log, re.compile("Registering worker"), 2)
        yield url
