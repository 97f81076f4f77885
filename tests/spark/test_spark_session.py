"""An address of a master that is not there is told at once, and not by Spark."""

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from gossamer.cli.main import run
from gossamer.net.local.ports import free_port
from gossamer.spark.session import NoMaster, reach
from tests.support.polling import PATIENCE
from tests.support.processes import scrubbed

# Prints the address of every socket that this process, or one below it, listens to.
LISTING = """
import os, psutil
from gossamer.spark import start
spark = start(config={"spark.ui.enabled": "true", "spark.ui.port": "0"})
assert spark.range(10).mapInArrow(lambda batches: batches, "id long").count() == 10
me = psutil.Process()
for process in [me, *me.children(recursive=True)]:
    for one in process.net_connections("inet"):
        if one.status == psutil.CONN_LISTEN:
            print(one.laddr.ip.removeprefix("::ffff:"))
spark.stop()
"""


def test_a_master_that_listens_is_reached_and_others_are_not_asked() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        there = f"127.0.0.1:{server.getsockname()[1]}"
        reach(f"spark://{there}")
        reach(f"spark://127.0.0.1:{free_port()},{there}")
    for kind in ("local[2]", "yarn", "k8s://https://127.0.0.1:1"):
        reach(kind)


@pytest.mark.parametrize(
    ("master", "told"),
    [
        ("spark://nowhere", "'nowhere' is not HOST:PORT"),
        ("spark://:7077", "':7077' is not HOST:PORT"),
        ("spark://127.0.0.1:port", "'127.0.0.1:port' is not HOST:PORT"),
        ("spark://127.0.0.1:99999", "127.0.0.1:99999: "),
    ],
)
def test_an_address_that_is_none_is_told(master: str, told: str) -> None:
    with pytest.raises(NoMaster) as problem:
        reach(master)
    assert told in str(problem.value)


def test_local_spark_listens_to_this_machine_only() -> None:
    """The driver, its blocks and the page, too: in a process of its own, since a page needs one."""
    pytest.importorskip("pyspark")
    listing = subprocess.run(
        [sys.executable, "-c", LISTING],
        env=scrubbed(PYTHONPATH=os.pathsep.join(sys.path)),
        capture_output=True,
        text=True,
        timeout=PATIENCE * 4,
    )
    if "NoJava" in listing.stderr:
        pytest.skip("no Java")
    found = listing.stdout.split()
    assert len(found) >= 3, listing.stderr
    assert set(found) == {"127.0.0.1"}


def test_a_command_says_that_nobody_answers(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("pyspark")
    asked = ["experiment", "run", "bloom-errors", "--out", str(tmp_path)]
    assert run([*asked, "--master", f"spark://127.0.0.1:{free_port()}"]) == 1
    assert "no Spark master at spark://127.0.0.1" in capsys.readouterr().err
