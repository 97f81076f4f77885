"""The laboratory's commands by name: the entry point through which `gossamer` finds them."""

from typing import Final

from gossamer.cli.commands import CommandSet

COMMANDS: Final = CommandSet(
    package="gossamer_lab.cli",
    names=(
        "demo",
        "torture",
        "torture spark",
        "torture soak",
        "torture roaming",
        "torture fuzz",
        "sim",
        "sim torture",
        "sim replay",
        "bench brokers",
        "bench plus",
        "bench images",
        "bench durable",
        "bench archive",
        "bench spark",
        "bench mesh",
        "bench links",
        "bench heal",
        "bench restarts",
        "bench pushdown",
        "bench flood",
        "bench attacks",
        "bench stalls",
        "bench start",
        "bench memory",
        "bench growth",
        "bench topics",
        "bench bloom",
        "bench geo",
        "experiment list",
        "experiment run",
        "experiment report",
        "experiment speedup",
    ),
    groups={
        "bench": "Benchmark this broker against others.",
        "experiment": "Reproduce the experiments of the papers.",
        "torture": "Kill brokers or queries at random and check for lost or duplicate messages.",
        "sim": "Simulate a mesh: the real broker code on a virtual network.",
    },
)
