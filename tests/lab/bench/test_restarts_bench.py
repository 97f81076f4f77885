"""The bench of restarts: one broker of a real line is killed once, and what its table says."""

from pathlib import Path

from gossamer.net.local.mesh import LocalMesh, LocalMeshPlan
from gossamer_lab.bench import restarts
from gossamer_lab.bench.restarts import Restart, measure, table_rows


def test_what_waited_arrives(tmp_path: Path) -> None:
    with LocalMesh(tmp_path, LocalMeshPlan(3, memory=False)) as mesh:
        mesh.start()
        found = measure(mesh, 0, 0.2, 4 * restarts.STREAMS)
    assert found.lost == 0
    assert len(found.waits) > 0
    assert found.waits == sorted(found.waits)


def test_the_table() -> None:
    rows = table_rows([Restart(1.25, 0.5, [0.01, 0.02, 0.25], 0), Restart(1.0, 0.75, [], 2)])
    assert rows == [
        ["1", "1.25", "0.50", "3", "10", "20", "250", "0"],
        ["2", "1.00", "0.75", "0", "", "", "", "2"],
    ]
