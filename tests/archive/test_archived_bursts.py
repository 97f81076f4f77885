"""What is read in one chunk is archived as if it had come packet by packet."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gossamer.archive.archive import Archive
from gossamer.wire.codec import encode
from gossamer.wire.packets import PUBREL, V5, V311, Acknowledgement, Publish
from tests.support import archives
from tests.support.memory import World

# Topic, QoS and payload of each packet of a chunk: much of it alike, so that runs come about.
PACKETS = st.lists(
    st.tuples(
        st.sampled_from(["t/x", "t/y", "other"]),
        st.integers(0, 2),
        st.sampled_from([b"", b"aa", b"bb", b"longer"]),
        st.integers(1, 6),  # so many times
    ),
    max_size=8,
)


def archived(
    folder: Path, packets: list[tuple[str, int, bytes, int]], version: int, one_by_one: bool
) -> list[dict[str, Any]]:
    archive = Archive(archives.settings(folder))
    try:
        world = World()
        world.broker.begin_archiving(archive.collector, ["t/#"])
        writer, reader = world.client("w", version), world.client("r", version)
        reader.subscribe("#", qos=2)
        chunk: list[bytes] = []
        number = 0
        for topic, qos, payload, times in packets:
            for turn in range(times):
                number += 1
                packet_id = number if qos else 0
                content = payload[: len(payload) - 1] + b"%d" % turn if payload else payload
                chunk.append(encode(Publish(topic, content, qos, packet_id=packet_id), version))
                if qos == 2:
                    chunk.append(encode(Acknowledgement(PUBREL, packet_id), version))
        for data in chunk if one_by_one else [b"".join(chunk)]:
            writer.send_bytes(data)
        archives.write(archive, [])
        rows = archives.read(archive)
        for row in rows:
            del row["time"]
        return rows
    finally:
        archive.close()


@given(packets=PACKETS, version=st.sampled_from([V311, V5]))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_a_chunk_is_archived_as_its_packets_are(
    tmp_path_factory: pytest.TempPathFactory,
    packets: list[tuple[str, int, bytes, int]],
    version: int,
) -> None:
    folder = tmp_path_factory.mktemp("archives")
    together, apart = (
        archived(folder / name, packets, version, name == "apart") for name in ("one", "apart")
    )
    assert together == apart
    expected = sum(times for topic, _, _, times in packets if topic != "other")
    assert len(together) == expected


def test_an_archive_that_takes_nothing_refuses_each_of_a_run(tmp_path: Path) -> None:
    archive = Archive(archives.settings(tmp_path))
    world = World()
    world.broker.begin_archiving(archive.collector, ["#"])
    writer, reader = world.client("w"), world.client("r")
    reader.subscribe("#", qos=1)
    archive.collector.accepts = False
    run = [encode(Publish("t", b"x", 1, packet_id=number), V5) for number in (1, 2, 3)]
    writer.send_bytes(b"".join(run))
    assert [answer.reason for answer in writer.take() if isinstance(answer, Acknowledgement)] == [
        0x97,
        0x97,
        0x97,
    ]
    assert archive.collector.archived == 0
    archive.close()
