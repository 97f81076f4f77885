"""A Spark session that is ready for Gossamer: Java, Python on the workers, quiet defaults."""

import os
import socket
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from types import ModuleType
from typing import Final

from pyspark.sql import SparkSession

import gossamer
from gossamer.spark.data_source import register
from gossamer.spark.executor_package import folder_of, scratch, shipping
from gossamer.spark.java import java_home, quiet_java

# A task may fail once (a broker that restarts, say) without ending the query.
LOCAL: Final = "local[*,4]"
CONNECT: Final = "sc://"  # how the address of a Spark Connect server begins
PYTHON: Final = "spark.pyspark.python"

# Java's Arrow looks at bounds and nulls on every access. Spark asks for nulls itself, and what it
# reads here was written by Arrow: the looks cost a tenth of reading an archive.
_TRUSTING_ARROW: Final = (
    "-Darrow.enable_unsafe_memory_access=true -Darrow.enable_null_check_for_get=false"
)

_JAVA_OPTIONS: Final = "spark.driver.extraJavaOptions"

_DEFAULTS: Final = {
    _JAVA_OPTIONS: _TRUSTING_ARROW,
    "spark.executor.extraJavaOptions": _TRUSTING_ARROW,
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
}

# What Spark opens is for this machine alone where it works on no other: the driver, its blocks, and
# the page, whose address is in the environment.
_OWN_MACHINE: Final = {
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
}
_OWN_ADDRESS: Final = ("SPARK_LOCAL_IP", "127.0.0.1")

STANDALONE: Final = "spark://"
_CONNECT_SECONDS: Final = 5.0


def start(
    name: str = "gossamer",
    master: str = LOCAL,
    config: Mapping[str, str] | None = None,
    packages: Sequence[ModuleType] = (),
) -> SparkSession:
    """The running session, or a new one with the source and sink registered. Raises NoJava, and
    NoMaster if nobody answers at the address of a standalone cluster.

    On a cluster, executors get this package from here, and `packages` beside it. With a Spark
    Connect server (`sc://…`) the server brings its own Java and needs the package on its own
    PYTHONPATH.
    """
    is_local = master.startswith("local")
    settings = {**_DEFAULTS, **(_OWN_MACHINE if is_local else {}), **(config or {})}
    if master.startswith(CONNECT):
        spark = SparkSession.builder.remote(master).getOrCreate()
        spark.conf.set("spark.sql.session.timeZone", settings["spark.sql.session.timeZone"])
        register(spark)
        return spark
    reach(master)
    prepare(settings.get(PYTHON), packages)
    if _JAVA_OPTIONS not in (config or {}):
        settings[_JAVA_OPTIONS] += f" {quiet_java(scratch('java'))}"
    if not is_local:
        settings |= shipping(settings, packages=packages)
    builder = SparkSession.builder.appName(name).master(master)
    for key, value in settings.items():
        builder = builder.config(key, value)
    with _own_address() if is_local else nullcontext():
        spark = builder.getOrCreate()
    register(spark)
    return spark


@contextmanager
def _own_address() -> Iterator[None]:
    """While Java starts, which asks the environment where its page is to listen."""
    name, address = _OWN_ADDRESS
    before = os.environ.get(name)
    os.environ.setdefault(name, address)
    try:
        yield
    finally:
        if before is None:
            del os.environ[name]


def prepare(python: str | None = None, packages: Sequence[ModuleType] = ()) -> None:
    """The environment that Spark's own programs need, set for this process. Raises NoJava."""
    os.environ["JAVA_HOME"] = java_home(scratch("java"))
    if python is not None:
        os.environ["PYSPARK_PYTHON"] = python
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    for package in (gossamer, *packages):
        _make_importable(package)


def _make_importable(package: ModuleType) -> None:
    """Workers that Spark starts on this machine find the package where this process does."""
    here = str(folder_of(package))
    paths = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    if here not in paths:
        os.environ["PYTHONPATH"] = os.pathsep.join([here, *(path for path in paths if path)])


class NoMaster(RuntimeError):
    """Nobody answers; the text says where and what to do."""


def reach(master: str) -> None:
    """Raises NoMaster. Of several masters one is enough; other kinds of cluster are Spark's.

    Spark itself says nothing for a minute, and then too much.
    """
    if not master.startswith(STANDALONE):
        return
    problems = []
    for place in master.removeprefix(STANDALONE).split(","):
        host, _, port = place.rpartition(":")
        if not host or not port.isdecimal():
            problems.append(f"{place!r} is not HOST:PORT")
            continue
        try:
            socket.create_connection((host, int(port)), _CONNECT_SECONDS).close()
        except (OSError, OverflowError) as problem:
            problems.append(f"{place}: {problem}")
        else:
            return
    raise NoMaster(
        f"no Spark master at {master} ({'; '.join(problems)}); start it, or leave --master out to "
        "use the cores of this machine"
    )
