"""`[[mesh.stock]]`: a broker of another make as a neighbour, with nothing installed on it."""

from pathlib import Path
from typing import Literal

from pydantic import Field, model_validator

from gossamer.mesh.stock.settings import StockSettings, echoes
from gossamer.net.config.peer_tls import PeerTls
from gossamer.net.config.section import Section
from gossamer.net.config.units import FilePath
from gossamer.topics.names import TopicError, check_filter
from gossamer.wire.packets import V5, V311

_VERSIONS = {"5.0": V5, "3.1.1": V311}
_MOST_LEVELS = 200


class Stock(Section):
    """We are a client there. Brokers of the mesh that link to the same one give it one name."""

    name: str = Field(
        min_length=1,
        max_length=64,
        pattern=r"^[A-Za-z0-9._-]+$",
        description="Its name, the same on every broker that links to it.",
    )
    host: str = Field(description="Its host name or address.")
    port: int = Field(default=1883, ge=1, le=65535, description="Its port.")
    protocol: Literal["5.0", "3.1.1"] = Field(
        default="5.0",
        description="What it speaks. With 3.1.1 exports and imports must not overlap.",
    )
    imports: tuple[str, ...] = Field(
        default=("#",),
        description="Filters: what may come from it. Of that, only what the mesh wants is "
        "subscribed there.",
    )
    exports: tuple[str, ...] = Field(
        default=(),
        description="Filters: what is published there. It cannot tell what its clients want.",
    )
    qos: Literal[0, 1, 2] = Field(default=2, description="The highest QoS that crosses.")
    username: str | None = Field(default=None, description="The user name to log in with.")
    password_file: FilePath | None = Field(
        default=None, description="File with the password to log in with."
    )
    tls: PeerTls | None = Field(default=None, description="Dial with TLS.")

    @model_validator(mode="after")
    def _filters_are_sound(self) -> "Stock":
        for filter in (*self.imports, *self.exports):
            try:
                check_filter(filter, _MOST_LEVELS)
            except TopicError as error:
                raise ValueError(f"{filter!r} is no filter: {error}") from None
        both = echoes(self.settings())
        if both:
            raise ValueError(
                f"exports and imports both have {both!r}, and 3.1.1 cannot tell an echo from a "
                'message: narrow one of them, or use protocol = "5.0"'
            )
        return self

    def at(self, folder: Path) -> "Stock":
        """With every path taken relative to `folder`."""
        password = None if self.password_file is None else folder / self.password_file
        tls = None if self.tls is None else self.tls.at(folder)
        return self.model_copy(update={"password_file": password, "tls": tls})

    def settings(self) -> StockSettings:
        """The core's, without the password."""
        version = _VERSIONS[self.protocol]
        settings = StockSettings(self.name, version, self.imports, self.exports, self.qos)
        settings.username = self.username
        return settings
