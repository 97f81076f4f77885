"""What is measured: three preparations × four sweeps of one parameter, a cell for each value."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from gossamer.bench.bloom_workload import Parameters, Preparation


@dataclass(frozen=True)
class Sweep:
    """One parameter and its values; the others keep their defaults."""

    field: str
    symbol: str
    values: tuple[float, ...]

    def parameters(self, value: float) -> Parameters:
        default = getattr(Parameters(), self.field)
        return replace(Parameters(), **{self.field: type(default)(value)})


SWEEPS = (
    Sweep("filters", "n_t", (2_000, 4_000, 6_000, 8_000, 10_000)),
    Sweep("levels", "n_lv", (2, 4, 6, 8, 10)),
    Sweep("wildcard_probability", "p_wc", (0.0, 0.25, 0.5, 0.75, 1.0)),
    Sweep("first_wildcard_level", "l_wc", (0, 1, 2, 3, 4, 5)),
)


@dataclass(frozen=True)
class Cell:
    """One point of one panel."""

    preparation: Preparation
    sweep: Sweep
    value: float

    def parameters(self) -> Parameters:
        return self.sweep.parameters(self.value)

    def __str__(self) -> str:
        return f"{self.sweep.symbol}={self.value:g} {self.preparation}"


def cells(quick: bool = False) -> Iterator[Cell]:
    """Every cell of the twelve panels; quick: the ends of each sweep and one in between."""
    for preparation in Preparation:
        for sweep in SWEEPS:
            values = sweep.values
            if quick:
                values = (values[0], values[len(values) // 2], values[-1])
            for value in values:
                yield Cell(preparation, sweep, value)


DEEP_WITHOUT_MATCH = Cell(Preparation.WITHOUT_MATCH, SWEEPS[1], 10)
