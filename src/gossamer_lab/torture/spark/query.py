"""The query that is tortured, a program of its own: it follows an archive into Parquet files.

    python -m gossamer_lab.torture.spark.query follow MASTER REPLAY FOLDER
    python -m gossamer_lab.torture.spark.query finish MASTER REPLAY FOLDER

`finish` reads what is there, ends, and leaves the rows that the files hold in FOLDER/found.parquet.
"""

import sys
from pathlib import Path
from typing import Final

import pyarrow.parquet as pq

from gossamer.spark import start

FOLLOW: Final = "follow"
FINISH: Final = "finish"
LAKE: Final = "lake"
CHECKPOINT: Final = "checkpoint"
FOUND: Final = "found.parquet"

_CONFIG: Final = {
    "spark.driver.memory": "1g",
    "spark.executor.memory": "1g",
    "spark.driver.host": "127.0.0.1",
    "spark.sql.shuffle.partitions": "2",
}
# Small batches of several tasks each, so that a kill meets all states of them.
_IN_PIECES: Final = {"maxRowsPerTrigger": "1000", "rowsPerPartition": "200"}
# A broker that was killed is back before that, on a busy machine too.
_RETRY_SECONDS: Final = 120


def main(mode: str, master: str, replay: str, folder: Path) -> None:
    spark = start("gossamer torture", master, _CONFIG)
    reader = spark.readStream.format("gossamer").options(
        brokers=replay, starting="earliest", retrySeconds=str(_RETRY_SECONDS)
    )
    stream = (reader if mode == FINISH else reader.options(**_IN_PIECES)).load()
    writer = stream.writeStream.format("parquet").options(
        path=str(folder / LAKE), checkpointLocation=str(folder / CHECKPOINT)
    )
    if mode == FINISH:
        writer = writer.trigger(availableNow=True)
    writer.start().awaitTermination()
    found = spark.read.parquet(str(folder / LAKE)).select("offset", "payload").toArrow()
    pq.write_table(found, folder / FOUND)
    spark.stop()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3], Path(sys.argv[4]))
