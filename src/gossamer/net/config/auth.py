"""`[auth]` and `[permissions]`: who a client is, and what it may do."""

from typing import Annotated, Any, Literal

from gossamer.broker.client_ids import check_id_templates
from gossamer.net.config.section import After, Section, setting
from gossamer.net.config.value_types import Allowed, Duration, FilePath

IdTemplate = Annotated[
    str, Allowed("a client id, in which %u is the user name and a last * anything")
]


def _bound(templates: tuple[str, ...]) -> tuple[str, ...]:
    check_id_templates(list(templates))
    return templates


class Jwt(Section):
    """JSON Web Tokens in the password field; the token names the user."""

    key: FilePath
    """File with the secret (HS256) or the PEM public key."""
    algorithm: Literal["HS256", "RS256", "ES256"]
    """The one algorithm accepted; a token never chooses it."""
    issuer: str | None = None
    """Required value of `iss`, if set."""
    audience: str | None = None
    """Required value of `aud`, if set."""
    user_claim: str = setting(default="sub", min_length=1)
    """The claim that holds the user name."""
    leeway: Duration = 30.0
    """Tolerance for clock differences."""


class AuthSection(Section):
    """Without any of these, and without client certificates, only anonymous access is possible."""

    password_file: FilePath | None = None
    """Lines `user:argon2id-hash`, written by `gossamer passwd`."""
    scram_file: FilePath | None = None
    """SCRAM-SHA-256 verifiers, written by `gossamer passwd --scram`."""
    jwt: Jwt | None = None
    """JSON Web Tokens as passwords."""
    certificate: bool = True
    """Whether a client certificate authenticates a client; its common name is the user name."""
    plugins: tuple[str, ...] = ()
    """Names in the entry point group `gossamer.authenticators`, in order."""
    plugin_options: Annotated[
        dict[str, dict[str, Any]], Allowed("a table for each plug-in, as the plug-in says")
    ] = setting(default={})
    """Settings passed to each plug-in."""
    client_ids: Annotated[tuple[IdTemplate, ...], After(_bound)] = ()
    """Client ids that users may have, such as `%u` and `%u-*`: `%u` is the user name, a trailing
    `*` matches anything. Empty allows any id; the first client then owns it."""
    workers: int = setting(default=2, ge=1, le=64)
    """Number of threads that verify passwords."""
    waiting: int = setting(default=1000, ge=1)
    """Logins that wait for those threads, in turns by address; above this, the newest of the
    address with most is refused."""

    @property
    def configured(self) -> tuple[str, ...]:
        """The ways to log in on every listener, in their usual order."""
        ways = {
            "password": self.password_file is not None,
            "jwt": self.jwt is not None,
            "scram": self.scram_file is not None,
            "plugin": bool(self.plugins),
        }
        return tuple(way for way, is_on in ways.items() if is_on)


class PermissionsSection(Section):
    """Without a rule file, every client that can connect may do everything."""

    file: FilePath | None = None
    """TOML file with the rules."""
    cache: int = setting(default=4096, ge=16)
    """Decisions cached for each distinct set of rights."""
