"""What a connection costs that does nothing: resident memory for 5,000 of them."""

import time

from gossamer_lab.bench.brokers import proc
from gossamer_lab.bench.brokers.link import close, open_link
from gossamer_lab.bench.brokers.measurement import BenchTarget, Measurement

CONNECTIONS = 5000

# The first connections fill caches and pools that all later ones share.
FIRST_CONNECTIONS = 50
SETTLE_SECONDS = 0.5


def idle_connections(target: BenchTarget) -> Measurement:
    wanted = target.scaled(CONNECTIONS)
    links = [open_link(target.address, f"first{i}") for i in range(FIRST_CONNECTIONS)]
    time.sleep(SETTLE_SECONDS)
    before = proc.resident_bytes(target.pid)
    cpu, own_cpu = proc.cpu_seconds(target.pid), time.process_time()
    began = time.perf_counter()
    links += [open_link(target.address, f"idle{i}") for i in range(wanted)]
    seconds = time.perf_counter() - began
    time.sleep(SETTLE_SECONDS)
    after = proc.resident_bytes(target.pid)
    result = Measurement(
        set_up_seconds=seconds,
        broker_cpu_seconds=proc.cpu_seconds(target.pid) - cpu,
        generator_cpu_seconds=time.process_time() - own_cpu,
        resident_bytes=after,
        bytes_per_connection=(after - before) / wanted if target.pid else None,
    )
    close(links)
    return result
