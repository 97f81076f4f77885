"""What one scenario measured of one broker."""

from dataclasses import dataclass

from gossamer_lab.bench.brokers import proc


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
    """The broker under load: where it is, which process (0: unknown), and for how long."""

    host: str
    port: int
    pid: int
    seconds: float
    scale: float = 1.0
    # Where a chain of brokers is under load: the last one's port, and the other processes.
    last_port: int = 0
    further_pids: tuple[int, ...] = ()

    @property
    def address(self) -> tuple[str, int]:
        return (self.host, self.port)

    @property
    def last_address(self) -> tuple[str, int]:
        """Where subscribers are."""
        return (self.host, self.last_port or self.port)

    def cpu_seconds(self) -> list[float]:
        """Processor time so far, by process."""
        return [proc.cpu_seconds(pid) for pid in (self.pid, *self.further_pids)]

    def scaled(self, count: int) -> int:
        """A count of clients or filters, lowered in quick runs."""
        return max(1, int(count * self.scale))
