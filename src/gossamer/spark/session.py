"""A Spark session that is ready for Gossamer: Java, Python on the workers, quiet defaults."""

import os
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from pyspark.sql import SparkSession

import gossamer
from gossamer.spark.java import java_home
from gossamer.spark.registering import register

# A task may fail once (a broker that restarts, say) without ending the query.
LOCAL: Final = "local[*,4]"

_DEFAULTS: Final = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "ERROR",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
}


def start(
    name: str = "gossamer", master: str = LOCAL, config: Mapping[str, str] | None = None
) -> SparkSession:
    """The running session, or a new one with the source and sink registered. Raises NoJava."""
    os.environ["JAVA_HOME"] = java_home(Path(tempfile.gettempdir()) / f"gossamer-java-{_user()}")
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    _make_importable()
    builder = SparkSession.builder.appName(name).master(master)
    for key, value in {**_DEFAULTS, **(config or {})}.items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    register(spark)
    return spark


def _user() -> int:
    return os.getuid() if hasattr(os, "getuid") else 0


def _make_importable() -> None:
    """Workers that Spark starts on this machine find the package where this process does."""
    here = str(Path(gossamer.__file__).parent.parent)
    paths = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    if here not in paths:
        os.environ["PYTHONPATH"] = os.pathsep.join([here, *(path for path in paths if path)])
