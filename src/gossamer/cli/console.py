"""`gossamer console`: the web page that shows what the brokers do."""

import asyncio
import os
import secrets
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated
from urllib.parse import urlsplit

import typer

from gossamer.cli.admin_api import DEFAULT_URL, TokenFile, read_admin_token
from gossamer.cli.errors import CommandError, WrongUse

if TYPE_CHECKING:
    from gossamer.console.settings import ConsoleSettings, WatchedBroker

DEFAULT_MQTT = "mqtt://127.0.0.1:1883"
# The code of the link that signs in once, where somebody else has made it.
CODE_VARIABLE = "GOSSAMER_CONSOLE_CODE"


def console(
    config: Annotated[
        list[Path] | None,
        typer.Option(
            "--config",
            "-c",
            metavar="FILE",
            help="The configuration file of a broker on this machine; may be repeated.",
        ),
    ] = None,
    broker: Annotated[
        list[str] | None,
        typer.Option(
            "--broker",
            metavar="URL",
            help=f"A broker's admin API ({DEFAULT_URL}); may be repeated.",
        ),
    ] = None,
    mqtt: Annotated[
        list[str] | None,
        typer.Option(
            "--mqtt",
            metavar="URL",
            help=f"MQTT address of the same broker ({DEFAULT_MQTT}); in the same order.",
        ),
    ] = None,
    token_file: TokenFile = None,
    username: Annotated[
        str | None, typer.Option("--username", "-u", help="User name for MQTT connections.")
    ] = None,
    password_file: Annotated[
        Path | None,
        typer.Option("--password-file", help="File with the password in its first line."),
    ] = None,
    host: Annotated[
        str, typer.Option("--host", metavar="ADDRESS", help="Address to listen on.")
    ] = "127.0.0.1",
    port: Annotated[
        int,
        typer.Option(
            "--port", "-p", metavar="PORT", min=0, max=65535, help="Port; 0 picks a free one."
        ),
    ] = 8080,
    lake: Annotated[
        Path | None,
        typer.Option("--lake", metavar="FOLDER", help="Folder of a pipeline to show."),
    ] = None,
    controls: Annotated[
        bool,
        typer.Option(
            "--controls", help="Allow users to cut and restore links (for demonstrations)."
        ),
    ] = False,
    with_parent: Annotated[
        bool, typer.Option("--with-parent", help="Stop at the end of standard input.")
    ] = False,
) -> None:
    """Run the web console; sign in by the link that it prints, or with the brokers' admin token.

    It runs as a separate process and connects to the brokers as a client. Ctrl-C and SIGTERM stop
    it.
    """
    try:
        from gossamer.console.settings import ConsoleSettings
    except ImportError as problem:
        raise _not_installed(problem) from problem
    login = (username, _first_line(password_file))
    addresses = _from_files(config, login) if config else []
    if broker or mqtt or not addresses:
        addresses += _from_urls(broker, mqtt, token_file, login)
    # Who starts it in a terminal signs in by a link; a parent may know that before it is up.
    code = os.environ.pop(CODE_VARIABLE, "") or secrets.token_urlsafe(16)
    token = addresses[0].token
    settings = ConsoleSettings(tuple(addresses), token, host, port, lake, controls, code)
    _run(settings, with_parent)


def _run(settings: "ConsoleSettings", with_parent: bool) -> None:
    try:
        from gossamer.console.application import ConsoleServer, bind
    except ImportError as problem:
        raise _not_installed(problem) from problem
    try:
        listening = bind(settings)
    except OSError as problem:
        raise CommandError(
            f"cannot listen on {settings.host}:{settings.port}: {problem.strerror}; "
            "choose another with --port or --host"
        ) from problem
    name = f"[{settings.host}]" if ":" in settings.host else settings.host
    if not settings.is_local:
        typer.echo(
            "WARNING: this console can be reached from other machines, over plain HTTP. The token "
            "crosses the network in the clear: put a TLS proxy in front of it.",
            err=True,
        )
    address = f"http://{name}:{listening.getsockname()[1]}"
    typer.echo(f"gossamer's console is at {address}")
    if settings.is_local:
        typer.echo(
            f"sign in with the admin token, or once by {sign_in_link(address, settings.code)}"
        )
    server = ConsoleServer(settings, listening)

    async def work() -> None:
        if with_parent:
            from gossamer.cli.signals import InputEnd

            loop = asyncio.get_running_loop()
            await loop.connect_read_pipe(lambda: InputEnd(server.stop), sys.stdin)
        await server.serve()

    try:
        asyncio.run(work())
    except KeyboardInterrupt:
        pass  # uvicorn raises it again after a clean stop


def sign_in_link(address: str, code: str) -> str:
    """Of a console at this address."""
    return f"{address}/sign-in?code={code}"


def _from_urls(
    brokers: list[str] | None,
    mqtt: list[str] | None,
    token_file: Path | None,
    login: tuple[str | None, str | None],
) -> "list[WatchedBroker]":
    from gossamer.console.settings import WatchedBroker

    admin_urls = brokers or [DEFAULT_URL]
    mqtt_urls = mqtt or [DEFAULT_MQTT]
    if len(admin_urls) != len(mqtt_urls):
        raise WrongUse("give one --mqtt for each --broker, in the same order")
    token = read_admin_token(token_file)
    found = []
    for admin_url, mqtt_url in zip(admin_urls, mqtt_urls, strict=True):
        parts = urlsplit(admin_url)
        if parts.scheme != "http" or not parts.hostname:
            raise WrongUse(f"--broker expects a URL such as {DEFAULT_URL}, not {admin_url!r}")
        found.append(
            WatchedBroker(parts.hostname, parts.port or 80, token, _checked(mqtt_url), *login)
        )
    return found


def _from_files(files: list[Path], login: tuple[str | None, str | None]) -> "list[WatchedBroker]":
    """What the brokers' own configurations say: addresses and token."""
    from gossamer.console.settings import WatchedBroker
    from gossamer.net.config import ConfigError, load

    found = []
    for file in files:
        try:
            config = load(file)
        except ConfigError as error:
            raise WrongUse("\ngossamer: ".join(error.problems)) from error
        if not config.admin.enabled:
            raise WrongUse(f"{file}: the admin API is off; set enabled = true in [admin]")
        plain = [one for one in config.listener if one.kind == "tcp"]
        if not plain:
            raise WrongUse(
                f"{file}: there is no plain TCP listener; use --broker and --mqtt instead"
            )
        found.append(
            WatchedBroker(
                _reachable(config.admin.host),
                config.admin.port,
                read_admin_token(config.admin.token_file),
                f"mqtt://{_reachable(plain[0].host)}:{plain[0].resolved_port}",
                *login,
            )
        )
    return found


def _reachable(host: str) -> str:
    """A listener on all addresses is also on this machine's own."""
    return {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(host, host)


def _checked(url: str) -> str:
    from gossamer.net.client_socket import parse_address

    try:
        parse_address(url)
    except ValueError as problem:
        raise WrongUse(f"--mqtt {problem}") from None
    return url


def _first_line(file: Path | None) -> str | None:
    if file is None:
        return None
    try:
        return (file.read_text(encoding="utf-8").splitlines() or [""])[0]
    except OSError as problem:
        raise WrongUse(f"--password-file {file}: {problem.strerror}") from problem


def _not_installed(problem: ImportError) -> CommandError:
    return CommandError(
        f"the console needs more packages ({problem.name} is missing): "
        "pip install 'gossamer[console]'"
    )
