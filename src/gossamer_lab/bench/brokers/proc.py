"""What a process costs, read from /proc: processor time and resident memory."""

import os
from pathlib import Path


def cpu_seconds(pid: int) -> float:
    """Processor time of all threads of ``pid``, user and system; 0 for an unknown process."""
    if pid <= 0:
        return 0.0
    try:
        # Nanoseconds, where the kernel keeps them; the clock ticks of `stat` are 10 ms each.
        tasks = Path(f"/proc/{pid}/task").iterdir()
        return sum(int((task / "schedstat").read_text().split()[0]) for task in tasks) / 1e9
    except FileNotFoundError:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def resident_bytes(pid: int) -> int:
    if pid <= 0:
        return 0
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def listening_pid(port: int) -> int:
    """The process of this machine that listens on ``port``; 0 if it cannot be seen."""
    inodes = set()
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        for line in Path(table).read_text().splitlines()[1:] if Path(table).exists() else ():
            fields = line.split()
            if fields[3] == "0A" and int(fields[1].rpartition(":")[2], 16) == port:
                inodes.add(f"socket:[{fields[9]}]")
    for descriptor in Path("/proc").glob("[0-9]*/fd/*"):
        try:
            if os.readlink(descriptor) in inodes:
                return int(descriptor.parts[2])
        except OSError:
            continue
    return 0
