"""`[rates]`: how fast one client or one address may be. A publisher over its rate is read slower,
not cut off; connects and logins over theirs are refused."""

from pydantic import Field

from gossamer.net.config.section import Section
from gossamer.net.config.units import Duration


class Rates(Section):
    """Rates are per second unless said otherwise; 0 is no limit."""

    connects_per_address: float = Field(
        default=0, ge=0, description="New connections from one address."
    )
    publishes_per_client: float = Field(
        default=0, ge=0, description="Publications of one connection."
    )
    publishes_per_address: float = Field(
        default=0, ge=0, description="Publications from one address."
    )
    bytes_per_client: float = Field(default=0, ge=0, description="Bytes read from one connection.")
    bytes_per_address: float = Field(default=0, ge=0, description="Bytes read from one address.")
    burst: Duration = Field(
        default=5.0, gt=0, description="How many seconds' worth of a rate may come at once."
    )
    failed_logins_per_minute: float = Field(
        default=30,
        ge=0,
        description="Failed logins from one address, per minute; more wait for the next.",
    )
