"""Programs of Spark's on loopback, from the pip package: a master, two workers, Spark Connect."""

import os
import re
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from gossamer.net.local.ports import free_port
from gossamer.spark.session import prepare
from tests.support.polling import eventually

PATIENCE = 120.0  # seconds; two Java machines that start on a busy computer take them
_MASTER = re.compile(r"Starting Spark master at (spark://127\.0\.0\.1:\d+)")
_LOOPBACK = ("--host", "127.0.0.1", "--port", "0", "--webui-port", "0")


def spark_home() -> Path:
    import pyspark

    return Path(pyspark.__file__).parent


def spark_environment(knows_gossamer: bool) -> dict[str, str]:
    """For a program of Spark's, with or without this package on its way."""
    prepare()
    hidden = {"PYTHONDONTWRITEBYTECODE", *(() if knows_gossamer else ("PYTHONPATH",))}
    env = {key: value for key, value in os.environ.items() if key not in hidden}
    return {**env, "SPARK_HOME": str(spark_home()), "SPARK_LOCAL_IP": "127.0.0.1"}


@contextmanager
def spark_program(
    name: str, log: Path, *arguments: str, knows_gossamer: bool = False
) -> Iterator[None]:
    """A class of Spark's; what it says is in the log."""
    with log.open("wb") as file:
        process = subprocess.Popen(
            [str(spark_home() / "bin" / "spark-class"), name, *arguments],
            cwd=log.parent,
            env=spark_environment(knows_gossamer),
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=subprocess.STDOUT,
        )
    try:
        yield
    finally:
        process.terminate()
        try:
            process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def said(log: Path, pattern: re.Pattern[str], count: int = 1) -> list[str]:
    """What the pattern finds in the log, once it is there so often."""

    def found() -> list[str]:
        return pattern.findall(log.read_text(errors="replace"))

    eventually(
        lambda: len(found()) >= count, lambda: log.read_text(errors="replace")[-2000:], PATIENCE
    )
    return found()


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


@contextmanager
def spark_connect(folder: Path) -> Iterator[str]:
    """A Spark Connect server; yields its address."""
    log = folder / "connect.log"
    port = free_port()
    settings = {
        "spark.connect.grpc.binding.address": "127.0.0.1",
        "spark.connect.grpc.binding.port": str(port),
        "spark.driver.memory": "512m",
        "spark.sql.codegen.wholeStage": "false",
        "spark.ui.enabled": "false",
    }
    arguments = [
        *("--class", "org.apache.spark.sql.connect.service.SparkConnectServer"),
        *("--master", "local[2,4]"),
        *(part for key, value in settings.items() for part in ("--conf", f"{key}={value}")),
        "spark-internal",
    ]
    submit = "org.apache.spark.deploy.SparkSubmit"
    with spark_program(submit, log, *arguments, knows_gossamer=True):
        said(log, re.compile("Spark Connect server started"))
        yield f"sc://127.0.0.1:{port}"
