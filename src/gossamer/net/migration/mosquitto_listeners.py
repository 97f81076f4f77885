"""One listener of mosquitto.conf as one of ours."""

from collections.abc import Callable
from typing import Any, Final

from gossamer.net.migration.mosquitto_file import MosquittoSection
from gossamer.net.migration.mosquitto_keys import MISSING, NEEDLESS
from gossamer.net.migration.report import UNKNOWN, MigrationReport, ReportLine

_TRUE: Final = ("true", "1")
_EVERYWHERE: Final = "0.0.0.0"


class _Listener:
    """Ours while it is put together."""

    def __init__(self) -> None:
        self.table: dict[str, Any] = {"kind": "tcp"}
        self.tls: dict[str, Any] = {}
        self.is_web = False

    def finished(self) -> dict[str, Any]:
        if "certificate" in self.tls:
            self.table["tls"] = self.tls
        kind = _KINDS.get((self.is_web, "tls" in self.table))
        if kind is not None:
            self.table["kind"] = kind
        return self.table


# Web sockets or not, with TLS or not; otherwise the kind stays: TCP or a socket of the file system.
_KINDS: Final = {(True, False): "ws", (True, True): "wss", (False, True): "tls"}


def listener_of(
    section: MosquittoSection, anonymous: bool, report: MigrationReport
) -> dict[str, Any]:
    """The table `[[listener]]`; what happened to each line goes to the report."""
    made = _Listener()
    words = section.head.value.split()
    port = int(words[0])
    host = words[1] if len(words) > 1 else _EVERYWHERE
    if port == 0 and host.startswith("/"):
        made.table.update(kind="unix", socket=host)
    else:
        made.table.update(host=host, port=port)
    made.table["anonymous"] = "always" if anonymous else "never"
    report.taken.append((section.head, f"[[listener]] {host} {port}"))
    for line in section.lines:
        take = _SETTINGS.get(line.key)
        if take is None:
            take_other(line, report)
        else:
            report.taken.append((line, take(made, line.value)))
    return made.finished()


def take_other(line: ReportLine, report: MigrationReport) -> None:
    """A setting that becomes nothing here: the report says why."""
    if line.key in NEEDLESS:
        report.needless.append((line, NEEDLESS[line.key]))
    else:
        way = MISSING.get(line.key, UNKNOWN)
        report.missing.append((line, way))


def _protocol(made: _Listener, value: str) -> str:
    made.is_web = value == "websockets"
    return "listener.kind"


def _bind_address(made: _Listener, value: str) -> str:
    made.table["host"] = value
    return "listener.host"


def _origin(made: _Listener, value: str) -> str:
    made.table.setdefault("origins", []).append(value)
    return "listener.origins"


def _proxy_protocol(made: _Listener, value: str) -> str:
    made.table["proxy_protocol"] = True
    return "listener.proxy_protocol"


def _max_connections(made: _Listener, value: str) -> str:
    if int(value) >= 0:
        made.table.setdefault("limits", {})["connections"] = max(1, int(value))
    return "listener.limits.connections"


def _tls_version(made: _Listener, value: str) -> str:
    made.tls["minimum_version"] = "1.3" if value == "tlsv1.3" else "1.2"
    return "listener.tls.minimum_version (1.2 at least)"


def _require_certificate(made: _Listener, value: str) -> str:
    if value in _TRUE:
        made.tls["client_certificate"] = "required"
    return "listener.tls.client_certificate"


def _identity(made: _Listener, value: str) -> str:
    return "auth.certificate (the default)"


def _tls(key: str) -> Callable[[_Listener, str], str]:
    def take(made: _Listener, value: str) -> str:
        made.tls[key] = value
        return f"listener.tls.{key}"

    return take


_SETTINGS: Final[dict[str, Callable[[_Listener, str], str]]] = {
    "protocol": _protocol,
    "bind_address": _bind_address,
    "websockets_origin": _origin,
    "enable_proxy_protocol": _proxy_protocol,
    "max_connections": _max_connections,
    "tls_version": _tls_version,
    "require_certificate": _require_certificate,
    "use_identity_as_username": _identity,
    "certfile": _tls("certificate"),
    "keyfile": _tls("key"),
    "cafile": _tls("client_ca"),
    "crlfile": _tls("revoked"),
    "ciphers": _tls("ciphers"),
}
