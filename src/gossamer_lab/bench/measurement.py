"""What is measured of a broker under load: which broker, with which meter, and the numbers."""

import time
from dataclasses import dataclass

from gossamer_lab.bench.processes import cpu_seconds, resident_bytes


@dataclass
class Measurement:
    """Numbers of one run; what a scenario does not measure stays None."""

    seconds: float = 0.0
    sent: int = 0
    delivered: int = 0
    lost: int = 0
    broker_cpu_seconds: float = 0.0
    busiest_cpu_seconds: float = 0.0  # of the busiest process, where there are several
    generator_cpu_seconds: float = 0.0
    resident_bytes: int = 0
    p50_microseconds: float | None = None
    p99_microseconds: float | None = None
    bytes_per_connection: float | None = None
    set_up_seconds: float | None = None
    failure: str = ""

    def in_per_second(self) -> float:
        return self.sent / self.seconds if self.seconds else 0.0

    def out_per_second(self) -> float:
        return self.delivered / self.seconds if self.seconds else 0.0

    def cpu_per_delivery(self) -> float | None:
        """Microseconds of the broker's processor time for each delivered message."""
        if not self.delivered or not self.broker_cpu_seconds:
            return None
        return self.broker_cpu_seconds / self.delivered * 1e6


@dataclass(frozen=True)
class BenchTarget:
    """The broker under load, or a chain of them: where it is, its processes, and for how long."""

    host: str
    port: int
    pids: tuple[int, ...] = (0,)  # of the first broker first; 0 is not known
    last_port: int = 0  # of a chain: where subscribers are
    seconds: float = 0.0
    scale: float = 1.0

    @property
    def address(self) -> tuple[str, int]:
        return (self.host, self.port)

    @property
    def last_address(self) -> tuple[str, int]:
        return (self.host, self.last_port or self.port)

    @property
    def pid(self) -> int:
        return self.pids[0]

    def scaled(self, count: int) -> int:
        """A count of clients or filters, lowered in quick runs."""
        return max(1, int(count * self.scale))


class Meter:
    """Time, and processor time of brokers and generator, from the moment it is made."""

    def __init__(self, target: BenchTarget) -> None:
        self._target = target
        self._before = [cpu_seconds(pid) for pid in target.pids]
        self._own_before = time.process_time()
        self._began = time.perf_counter()

    def seconds(self) -> float:
        return time.perf_counter() - self._began

    def read(self, sent: int = 0, delivered: int = 0) -> Measurement:
        seconds, own = self.seconds(), time.process_time()
        used = [
            cpu_seconds(pid) - before
            for pid, before in zip(self._target.pids, self._before, strict=True)
        ]
        return Measurement(
            seconds=seconds,
            sent=sent,
            delivered=delivered,
            broker_cpu_seconds=sum(used),
            busiest_cpu_seconds=max(used),
            generator_cpu_seconds=own - self._own_before,
            resident_bytes=resident_bytes(self._target.pid),
        )
