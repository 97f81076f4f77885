"""One Spark session for all tests of the room; without Java or PySpark they are skipped."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.support.object_store import ENVIRONMENT

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# A machine with other things to do takes half a minute to start Spark.
LONGEST_SECONDS = 900


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.is_relative_to(Path(__file__).parent):
            item.add_marker(pytest.mark.timeout(LONGEST_SECONDS))


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> "Iterator[SparkSession]":
    pytest.importorskip("pyspark")
    from gossamer.spark.java import NoJava
    from gossamer.spark.session import start

    folder = tmp_path_factory.mktemp("spark")
    try:
        session = start(
            "tests",
            "local[2,4]",
            {
                "spark.sql.shuffle.partitions": "2",
                # A few rows are read sooner than compiled.
                "spark.sql.codegen.wholeStage": "false",
                "spark.sql.codegen.factoryMode": "NO_CODEGEN",
                "spark.sql.adaptive.enabled": "false",
                "spark.sql.warehouse.dir": str(folder / "warehouse"),
                "spark.local.dir": str(folder / "local"),
                "spark.driver.memory": "1g",
                **{f"spark.executorEnv.{name}": text for name, text in ENVIRONMENT.items()},
            },
        )
    except NoJava as problem:
        pytest.skip(str(problem))
    yield session
    session.stop()
