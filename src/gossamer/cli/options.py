"""The options that ``pub`` and ``sub`` share, with the short flags of mosquitto's clients."""

import inspect
from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import wraps
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import typer

Qos = Annotated[int, typer.Option("-q", "--qos", min=0, max=2, help="Quality of service.")]
UserProperties = Annotated[
    list[str] | None,
    typer.Option(
        "--user-property", metavar="NAME=VALUE", help="User property, MQTT 5; may be repeated."
    ),
]
At = Annotated[
    str | None,
    typer.Option("--at", metavar="LAT,LON", help="Position of this client in degrees, MQTT 5."),
]
Within = Annotated[
    str | None,
    typer.Option(
        "--within", metavar="DISTANCE", help="An area around that position, such as 500m or 2km."
    ),
]
PlaceNames = Annotated[
    list[str] | None,
    typer.Option(
        "--place",
        metavar="NAME",
        help="A place that the broker keeps (gossamer ctl places), MQTT 5; may be repeated.",
    ),
]
AreaFiles = Annotated[
    list[Path] | None,
    typer.Option(
        "--area", metavar="FILE", help="GeoJSON file with an area, MQTT 5; may be repeated."
    ),
]


@dataclass
class ConnectionOptions:
    """Where the broker is, and as whom to connect."""

    host: Annotated[str, typer.Option("-h", "--host", metavar="HOST", help="Broker host.")] = (
        "127.0.0.1"
    )
    port: Annotated[
        int | None,
        typer.Option(
            "-p",
            "--port",
            metavar="PORT",
            min=1,
            max=65535,
            help="Broker port.",
            show_default="1883, TLS 8883",
        ),
    ] = None
    url: Annotated[
        str | None,
        typer.Option(
            "-L",
            "--url",
            metavar="URL",
            help="The broker as a URL: mqtt(s)://[USER[:PASSWORD]@]HOST[:PORT][/TOPIC], "
            "ws(s)://[USER[:PASSWORD]@]HOST[:PORT][/PATH], unix:///PATH.",
        ),
    ] = None
    client_id: Annotated[
        str,
        typer.Option(
            "-i", "--id", metavar="ID", help="Client id.", show_default="assigned by the broker"
        ),
    ] = ""
    username: Annotated[
        str | None, typer.Option("-u", "--username", metavar="USER", help="User name.")
    ] = None
    password: Annotated[
        str | None, typer.Option("-P", "--pw", metavar="PASSWORD", help="Password.")
    ] = None
    scram: Annotated[
        bool,
        typer.Option(
            "--scram", help="Authenticate with SCRAM-SHA-256 (the password is not sent); MQTT 5."
        ),
    ] = False
    version: Annotated[
        str,
        typer.Option(
            "-V",
            "--protocol-version",
            metavar="5|311",
            help="MQTT version; mosquitto's spellings work too.",
        ),
    ] = "5"
    keep_alive: Annotated[
        int,
        typer.Option(
            "-k", "--keepalive", min=0, max=65535, help="Keep alive in seconds; 0 turns it off."
        ),
    ] = 60
    keep_session: Annotated[
        bool,
        typer.Option(
            "-c", "--disable-clean-session", help="Resume a persistent session (needs -i)."
        ),
    ] = False
    session_expiry: Annotated[
        int | None,
        typer.Option("-x", "--session-expiry-interval", min=0, help="Session expiry in seconds."),
    ] = None
    tls: Annotated[
        bool, typer.Option("--tls", help="Use TLS with the system's certificate authorities.")
    ] = False
    cafile: Annotated[
        Path | None,
        typer.Option(
            "--cafile", metavar="FILE", help="Use TLS with this certificate authority (PEM)."
        ),
    ] = None
    cert: Annotated[
        Path | None, typer.Option("--cert", metavar="FILE", help="Client certificate (PEM).")
    ] = None
    key: Annotated[
        Path | None,
        typer.Option("--key", metavar="FILE", help="Private key of the client certificate (PEM)."),
    ] = None
    insecure: Annotated[
        bool,
        typer.Option(
            "--insecure",
            help="Use TLS without verifying the host name or (without --cafile) the certificate.",
        ),
    ] = False
    will_topic: Annotated[
        str | None,
        typer.Option("--will-topic", metavar="TOPIC", help="Will topic."),
    ] = None
    will_payload: Annotated[
        str, typer.Option("--will-payload", metavar="TEXT", help="Will payload.")
    ] = ""
    will_qos: Annotated[int, typer.Option("--will-qos", min=0, max=2, help="Will QoS.")] = 0
    will_retain: Annotated[
        bool, typer.Option("--will-retain", help="Publish the will as a retained message.")
    ] = False


def with_connection(command: Callable[..., None]) -> Callable[..., None]:
    """The command with these options after its own; it gets them as its argument `connection`."""
    own = [
        one for one in inspect.signature(command).parameters.values() if one.name != "connection"
    ]
    hints = get_type_hints(ConnectionOptions, include_extras=True)
    shared = [
        inspect.Parameter(
            one.name,
            inspect.Parameter.POSITIONAL_OR_KEYWORD,
            default=one.default,
            annotation=hints[one.name],
        )
        for one in fields(ConnectionOptions)
    ]

    @wraps(command)
    def called(**values: Any) -> None:
        connection = ConnectionOptions(**{one.name: values.pop(one.name) for one in shared})
        command(**values, connection=connection)

    parameters = [*own, *shared]  # where typer looks for them
    called.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    called.__annotations__ = {one.name: one.annotation for one in parameters}
    return called
