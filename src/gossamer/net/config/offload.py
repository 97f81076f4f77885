"""`[plus.offload]`: operators that a Spark query computes instead of the broker."""

from pydantic import Field

from gossamer.net.config.section import Section
from gossamer.net.config.units import Duration


class Offload(Section):
    """`docs/spark.md` says how they are answered; what they read must be archived."""

    operators: tuple[str, ...] = Field(
        default=(),
        description='Processors and aggregates, without the `$`: `["RECOGNIZE", "DAILYP95"]`.',
    )
    windows: Duration = Field(
        default=0.0, description="All windows of at least this length, too; 0 for none."
    )
    users: tuple[str, ...] = Field(
        min_length=1, description="Who may ask what is wanted, and answer it."
    )
