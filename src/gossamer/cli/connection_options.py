"""From the options of ``pub`` and ``sub`` to a client, and from its troubles to one line."""

import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import unquote, urlsplit

from gossamer.cli.errors import CommandError, WrongUse
from gossamer.cli.options import ConnectionOptions
from gossamer.net.auth.scram import ScramClient
from gossamer.net.client import Client, Disconnected, NoConnack, Refused
from gossamer.topics.names import TopicError, check_filter, check_name
from gossamer.wire import reasons
from gossamer.wire.packets import V5, V311, Will
from gossamer.wire.properties import Properties

VERSIONS = {
    **dict.fromkeys(("5", "5.0", "mqttv5"), V5),
    **dict.fromkeys(("311", "3.1.1", "4", "mqttv311", "31", "mqttv31"), V311),
}
PORT, TLS_PORT = 1883, 8883
NEVER_EXPIRES = 0xFFFFFFFF
ENCRYPTED = ("mqtts:", "wss:")
WRONG_NAME = (62, 64)  # OpenSSL's X509_V_ERR_HOSTNAME_MISMATCH and X509_V_ERR_IP_ADDRESS_MISMATCH

REASON_NAMES = {
    value: name.replace("_", " ").lower()
    for name, value in vars(reasons).items()
    if isinstance(value, int) and value >= reasons.UNSPECIFIED_ERROR
}


class ClientOptions(ConnectionOptions):
    """What the command line says about the connection."""

    def read_url(self) -> str:
        """Takes over what the URL says; returns the topic in it, empty if it has none."""
        if self.url is None:
            return ""
        parts = urlsplit(self.url)
        self.username = unquote(parts.username) if parts.username else self.username
        self.password = unquote(parts.password) if parts.password else self.password
        if parts.scheme not in ("mqtt", "mqtts"):
            # From here on the URL is shown in messages, so no password may be in it.
            self.url = parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()
            return ""
        try:
            port = parts.port
        except ValueError as problem:
            raise WrongUse(f"-L {self.url}: {problem}") from None
        if not parts.hostname:
            raise WrongUse(f"-L {self.url}: it has no host")
        self.host, self.port, self.url = parts.hostname, port, None
        self.tls = self.tls or parts.scheme == "mqtts"
        return unquote(parts.path.removeprefix("/"))

    @property
    def speaks_v5(self) -> bool:
        return VERSIONS.get(self.version) == V5

    @property
    def encrypted(self) -> bool:
        return bool(self.tls or self.cafile or self.cert or self.insecure)

    @property
    def place(self) -> str:
        """Where the broker is, as a URL."""
        if self.url is not None:
            return self.url
        scheme = "mqtts" if self.encrypted else "mqtt"
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{scheme}://{host}:{self.port or (TLS_PORT if self.encrypted else PORT)}"

    def client(self) -> Client:
        version = VERSIONS.get(self.version)
        if version is None:
            raise WrongUse(f"-V {self.version}: supported versions are 5 and 311")
        if self.keep_session and not self.client_id:
            raise WrongUse("-c resumes a session, which needs a client id: add -i ID")
        if self.password is not None and self.username is None and version != V5:
            raise WrongUse("-P needs -u: MQTT 3.1.1 has no password without a user name")
        try:
            return Client(
                self.place,
                self.client_id,
                version=version,
                clean_start=not self.keep_session,
                keep_alive=self.keep_alive,
                username=None if self.scram else self.username,
                password=None if self.scram or self.password is None else self.password.encode(),
                will=self._will(),
                properties=self._properties() if version == V5 else None,
                authenticator=self._authenticator(version),
                tls=self._tls() if self.encrypted else None,
            )
        except ValueError as problem:
            raise WrongUse(str(problem)) from None

    def _authenticator(self, version: int) -> ScramClient | None:
        if not self.scram:
            return None
        if version != V5:
            raise WrongUse("--scram needs MQTT 5: leave -V out")
        if not self.username or self.password is None:
            raise WrongUse("--scram needs a user name and a password: add -u USER and -P PASSWORD")
        return ScramClient(self.username, self.password)

    def _will(self) -> Will | None:
        if self.will_topic is None:
            return None
        check_topic(self.will_topic)
        return Will(self.will_topic, self.will_payload.encode(), self.will_qos, self.will_retain)

    def _properties(self) -> Properties | None:
        expiry = self.session_expiry
        if expiry is None and self.keep_session:
            expiry = NEVER_EXPIRES
        if expiry is None:
            return None
        properties = Properties()
        properties.session_expiry = min(expiry, NEVER_EXPIRES)
        return properties

    def _tls(self) -> ssl.SSLContext:
        try:
            context = ssl.create_default_context(cafile=self.cafile)
            if self.cert is not None:
                context.load_cert_chain(self.cert, self.key)
        except (OSError, ssl.SSLError) as problem:
            names = ", ".join(str(p) for p in (self.cafile, self.cert, self.key) if p)
            raise WrongUse(f"cannot use the TLS files {names}: {problem}") from None
        if self.insecure:
            context.check_hostname = False
            if self.cafile is None:
                context.verify_mode = ssl.CERT_NONE
        return context


def check_topic(topic: str) -> None:
    try:
        check_name(topic)
    except TopicError as problem:
        raise WrongUse(f"topic {topic!r}: {problem}") from None


def check_filters(filters: list[str]) -> None:
    for name in filters:
        try:
            check_filter(name)
        except TopicError as problem:
            raise WrongUse(f"filter {name!r}: {problem}") from None


def user_properties(texts: list[str] | None) -> list[tuple[str, str]]:
    pairs = []
    for text in texts or ():
        name, equals, value = text.partition("=")
        if not equals:
            raise WrongUse(f"--user-property {text}: write NAME=VALUE")
        pairs.append((name, value))
    return pairs


def describe(reason: int) -> str:
    name = REASON_NAMES.get(reason)
    return f"{name} (0x{reason:02x})" if name else f"0x{reason:02x}"


@contextmanager
def trouble_in_one_line(place: str) -> Iterator[None]:
    """What the network and the broker can do to a client, as a ``CommandError``."""
    try:
        yield
    except Refused as problem:
        words = f": {problem.text}" if problem.text else ""
        raise CommandError(f"{place} refused: {describe(problem.reason)}{words}") from None
    except NoConnack:
        hint = (
            "does it require a client certificate (--cert, --key)?"
            if place.startswith(ENCRYPTED)
            else "does it require TLS (--cafile, --tls), or is it not an MQTT listener?"
        )
        raise CommandError(
            f"{place} closed the connection without giving a reason; {hint}"
        ) from None
    except Disconnected as problem:
        why = describe(problem.reason) if problem.reason else problem.text
        raise CommandError(f"{place} ended the connection: {why}") from None
    except ssl.SSLError as problem:
        raise CommandError(f"TLS with {place} failed: {_tls_trouble(problem)}") from None
    except TimeoutError:
        raise CommandError(f"{place} does not respond; is it an MQTT broker?") from None
    except OSError as problem:
        why = problem.strerror or str(problem)
        if not why and place.startswith(ENCRYPTED):
            raise CommandError(
                f"no TLS with {place}: it closed the connection; if it is a listener without TLS, "
                "leave --tls and --cafile out"
            ) from None
        raise CommandError(f"cannot reach {place}: {why}; is a broker running there?") from None


def _tls_trouble(problem: ssl.SSLError) -> str:
    if isinstance(problem, ssl.SSLCertVerificationError):
        if problem.verify_code in WRONG_NAME:
            why = problem.verify_message.rstrip(".")
            return f"{why}: use a name that is in it, or --insecure"
        return f"{problem.verify_message}: name its certificate authority with --cafile"
    return problem.reason or str(problem)
