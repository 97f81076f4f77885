"""The options that ``pub`` and ``sub`` share, with the short flags of mosquitto's clients."""

from pathlib import Path
from typing import Annotated

import typer

Host = Annotated[str, typer.Option("-h", "--host", help="The broker's host.")]
Port = Annotated[
    int | None,
    typer.Option("-p", "--port", min=1, max=65535, help="Its port.", show_default="1883, TLS 8883"),
]
Url = Annotated[
    str | None,
    typer.Option(
        "-L",
        "--url",
        help="All in one: mqtt(s)://[USER[:PASSWORD]@]HOST[:PORT]/TOPIC, ws(s)://…, unix:///PATH.",
    ),
]
Username = Annotated[str | None, typer.Option("-u", "--username", help="User name.")]
Password = Annotated[str | None, typer.Option("-P", "--pw", help="Password.")]
ClientId = Annotated[
    str, typer.Option("-i", "--id", help="Client id.", show_default="the broker's choice")
]
Version = Annotated[
    str, typer.Option("-V", "--protocol-version", help="5 or 311 (mosquitto's spellings too).")
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
    typer.Option("--user-property", help="NAME=VALUE, MQTT 5; may be repeated."),
]
At = Annotated[str | None, typer.Option("--at", help="This client's position: LAT,LON, MQTT 5.")]
Within = Annotated[
    str | None, typer.Option("--within", help="An area around that position: 500m, 2km.")
]
AreaFiles = Annotated[
    list[Path] | None,
    typer.Option("--area", help="An area: a GeoJSON file; may be repeated."),
]
Tls = Annotated[bool, typer.Option("--tls", help="Encrypt; trust what the system trusts.")]
CaFile = Annotated[
    Path | None, typer.Option("--cafile", help="Encrypt; trust this certificate authority.")
]
Certificate = Annotated[Path | None, typer.Option("--cert", help="The client's certificate.")]
Key = Annotated[Path | None, typer.Option("--key", help="The key of the client's certificate.")]
Insecure = Annotated[
    bool, typer.Option("--insecure", help="Encrypt, but do not check the host's name.")
]
WillTopic = Annotated[
    str | None, typer.Option("--will-topic", help="Where the will goes if this client is lost.")
]
WillPayload = Annotated[str, typer.Option("--will-payload", help="What the will says.")]
WillQos = Annotated[int, typer.Option("--will-qos", min=0, max=2, help="The will's QoS.")]
WillRetain = Annotated[bool, typer.Option("--will-retain", help="Retain the will.")]
