"""`[store]`: what survives a restart, and what an acknowledgement promises."""

from typing import Literal

from pydantic import Field

from gossamer.net.config.section import Section
from gossamer.net.config.units import FilePath


class Store(Section):
    """The command line's `--data` and `--memory` win over this."""

    kind: Literal["disk", "memory"] = Field(
        default="disk", description="`memory` forgets everything when the broker stops."
    )
    folder: FilePath | None = Field(
        default=None,
        description="Where the database is; by default under the user's data directory.",
    )
    queue_share: float = Field(
        default=0.5,
        gt=0,
        le=1,
        description="Part of the free disk that the queues of all clients together may take.",
    )
    sync: Literal["full", "normal", "off"] = Field(
        default="full",
        description="What an acknowledged message survives: `full` a power cut, `normal` a crash "
        "of the broker, `off` a clean stop.",
    )
