"""The base of every section: frozen, and it refuses keys it does not know."""

from pydantic import BaseModel, ConfigDict


class Section(BaseModel):
    """One table of the configuration file."""

    model_config = ConfigDict(extra="forbid", frozen=True, validate_default=True)
