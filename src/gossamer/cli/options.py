"""The options that ``pub`` and ``sub`` share, with the short flags of mosquitto's clients."""

from pathlib import Path
from typing import Annotated

import typer

Host = Annotated[str, typer.Option("-h", "--host", metavar="HOST", help="The broker's host.")]
Port = Annotated[
    int | None,
    typer.Option(
        "-p",
        "--port",
        metavar="PORT",
        min=1,
        max=65535,
        help="Its port.",
        show_default="1883, TLS 8883",
    ),
]
Url = Annotated[
    str | None,
    typer.Option(
        "-L",
        "--url",
        metavar="URL",
        help="All in one: mqtt(s)://[USER[:PASSWORD]@]HOST[:PORT][/TOPIC], "
        "ws(s)://[USER[:PASSWORD]@]HOST[:PORT][/PATH], unix:///PATH.",
    ),
]
Username = Annotated[
    str | None, typer.Option("-u", "--username", metavar="USER", help="User name.")
]
Password = Annotated[str | None, typer.Option("-P", "--pw", metavar="PASSWORD", help="Password.")]
Scram = Annotated[
    bool,
    typer.Option("--scram", help="Prove the password by SCRAM-SHA-256, never sending it; MQTT 5."),
]
ClientId = Annotated[
    str,
    typer.Option("-i", "--id", metavar="ID", help="Client id.", show_default="the broker's choice"),
]
Version = Annotated[
    str,
    typer.Option(
        "-V", "--protocol-version", metavar="5|311", help="MQTT's; mosquitto's spellings too."
    ),
]
Qos = Annotated[int, typer.Option("-q", "--qos", min=0, max=2, help="Quality of service.")]
KeepAlive = Annotated[
    int, typer.Option("-k", "--keepalive", min=0, max=65535, help="Seconds; 0 is never.")
]
KeepSession = Annotated[
    bool,
    typer.Option("-c", "--disable-clean-session", help="Resume and keep the session (needs -i)."),
]
SessionExpiry = Annotated[
    int | None,
    typer.Option("-x", "--session-expiry-interval", min=0, help="Seconds the session is kept."),
]
UserProperties = Annotated[
    list[str] | None,
    typer.Option(
        "--user-property", metavar="NAME=VALUE", help="User property, MQTT 5; may be repeated."
    ),
]
At = Annotated[
    str | None,
    typer.Option("--at", metavar="LAT,LON", help="This client's position, in degrees, MQTT 5."),
]
Within = Annotated[
    str | None,
    typer.Option("--within", metavar="DISTANCE", help="An area around it, as 500m or 2km."),
]
AreaFiles = Annotated[
    list[Path] | None,
    typer.Option("--area", metavar="FILE", help="An area in GeoJSON, MQTT 5; may be repeated."),
]
Tls = Annotated[bool, typer.Option("--tls", help="Encrypt; trust what the system trusts.")]
CaFile = Annotated[
    Path | None,
    typer.Option("--cafile", metavar="FILE", help="Encrypt; trust this authority (PEM)."),
]
Certificate = Annotated[
    Path | None, typer.Option("--cert", metavar="FILE", help="The client's certificate (PEM).")
]
Key = Annotated[
    Path | None, typer.Option("--key", metavar="FILE", help="The key of that certificate (PEM).")
]
Insecure = Annotated[
    bool,
    typer.Option(
        "--insecure", help="Encrypt without checking the host's name, nor (without --cafile) trust."
    ),
]
WillTopic = Annotated[
    str | None,
    typer.Option(
        "--will-topic", metavar="TOPIC", help="Where the will goes if this client is lost."
    ),
]
WillPayload = Annotated[
    str, typer.Option("--will-payload", metavar="TEXT", help="What the will says.")
]
WillQos = Annotated[int, typer.Option("--will-qos", min=0, max=2, help="The will's QoS.")]
WillRetain = Annotated[bool, typer.Option("--will-retain", help="Retain the will.")]
