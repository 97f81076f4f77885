"""`[geo]`: positions of clients, and when somebody has entered, left or stayed in an area."""

from pydantic import Field

from gossamer.net.config.section import Section
from gossamer.net.config.units import Duration


class Geo(Section):
    """Subscriptions may ask for another hysteresis and another time to stay."""

    position_age: Duration = Field(
        default=3600.0, description="Time after which a client's position is none; 0 for never."
    )
    hysteresis: float = Field(
        default=10.0, ge=0, description="Metres outside an area at which a visitor has left it."
    )
    dwell: Duration = Field(
        default=60.0, gt=0, description="Time in an area after which a visitor stays there."
    )
