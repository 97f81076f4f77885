"""One small Spark session for the tests of this room; without Java or PySpark they are skipped."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# A machine with other things to do takes half a minute to start Spark.
LONGEST_SECONDS = 600


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if "spark" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.timeout(LONGEST_SECONDS))


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> "Iterator[SparkSession]":
    pytest.importorskip("pyspark")
    from gossamer.spark.java import NoJava
    from gossamer.spark.session import start

    folder = tmp_path_factory.mktemp("spark")
    config = {"spark.local.dir": str(folder), "spark.driver.memory": "512m"}
    try:
        session = start("tests", "local[2,2]", config)
    except NoJava as problem:
        pytest.skip(str(problem))
    yield session
    session.stop()
