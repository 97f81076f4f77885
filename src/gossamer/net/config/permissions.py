"""`[permissions]`: who may publish and subscribe where."""

from pydantic import Field

from gossamer.net.config.section import Section
from gossamer.net.config.units import FilePath


class Permissions(Section):
    """Without a rule file, whoever is let in may do everything."""

    file: FilePath | None = Field(default=None, description="TOML file with the rules.")
    cache: int = Field(
        default=4096, ge=16, description="Decisions remembered for each distinct set of rights."
    )
