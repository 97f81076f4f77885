"""`gossamer pipeline`: what comes through the brokers, kept and put in order by Spark."""

from collections.abc import Sequence
from pathlib import Path
from types import ModuleType, TracebackType
from typing import TYPE_CHECKING, Annotated, Any
from urllib.parse import urlsplit

import typer

from gossamer.cli.admin_api import DEFAULT_URL, read_admin_token
from gossamer.cli.errors import CommandError, WrongUse
from gossamer.cli.signals import end_with_input, stopping_on_signals
from gossamer.net.config.value_types import parse_duration

if TYPE_CHECKING:
    from rich.console import Console
    from rich.status import Status

    from gossamer.spark.pipelines.pipeline import AdminAccess, Pipeline, PipelineSettings
    from gossamer.spark.pipelines.run import BatchDone


def pipelines() -> ModuleType:
    """What finds, checks and runs them; CommandError where Spark is not installed."""
    try:
        from gossamer.spark.pipelines import run
    except ImportError as problem:
        raise CommandError(f"{problem.name} is missing: pip install 'gossamer[spark]'") from None
    return run


Master = Annotated[
    str, typer.Option(help="Spark master: spark://HOST:PORT, yarn, k8s://…; by default local[*].")
]
Conf = Annotated[list[str] | None, typer.Option("--conf", help="A Spark setting, as NAME=VALUE.")]
User = Annotated[str | None, typer.Option("--user", "-u", help="User name for the brokers.")]
PasswordFile = Annotated[Path | None, typer.Option(help="File with the password.")]
Tls = Annotated[bool, typer.Option("--tls", help="Connect to the replay services with TLS.")]
CaFile = Annotated[Path | None, typer.Option(help="Certificate authorities to trust (PEM).")]


def list_() -> None:
    """List the pipelines that `gossamer pipeline run` can run."""
    for pipeline in pipelines().PIPELINES:
        typer.echo(f"{pipeline.name:8}  {pipeline.says}")


def run(
    name: Annotated[str, typer.Argument(help="Name of the pipeline; see gossamer pipeline list.")],
    brokers: Annotated[
        str, typer.Option(help="Replay services of the brokers: HOST:PORT, separated by commas.")
    ] = "127.0.0.1:1885",
    lake: Annotated[
        str, typer.Option(help="Folder for the tables, or a place in an object store (s3://…).")
    ] = "lake",
    master: Master = "",
    once: Annotated[
        bool,
        typer.Option("--once", "--available-now", help="Process what is archived now, then exit."),
    ] = False,
    filter: Annotated[
        list[str] | None,
        typer.Option("--filter", "-f", help="Only topics that match these filters."),
    ] = None,
    starting: Annotated[
        str, typer.Option(help="Where the first run starts: earliest, latest, or a time.")
    ] = "earliest",
    every: Annotated[str, typer.Option(help="Time between the starts of two batches.")] = "30 s",
    max_rows: Annotated[
        int | None, typer.Option(min=1, help="Maximum number of rows per batch.")
    ] = None,
    lateness: Annotated[
        str,
        typer.Option(
            help="lake: time after which a window is final; late readings still correct it."
        ),
    ] = "1 h",
    event_time: Annotated[
        str, typer.Option(help="lake: JSON field with the event time, such as /ts.")
    ] = "",
    compact: Annotated[
        bool, typer.Option("--compact/--no-compact", help="lake: compact small files.")
    ] = True,
    history: Annotated[
        str, typer.Option(help="How long earlier versions of the tables can be read.")
    ] = "1 h",
    messages: Annotated[
        bool,
        typer.Option("--messages/--no-messages", help="lake: keep a copy of all messages."),
    ] = True,
    checkpoints: Annotated[
        str,
        typer.Option(help="Folder for checkpoints that Spark can write to; by default the lake's."),
    ] = "",
    window: Annotated[
        str, typer.Option(help="insight: time span that recommendations are based on.")
    ] = "24 h",
    fences: Annotated[
        str,
        typer.Option(
            help="geo: GeoJSON file with geofences; by default the areas of subscriptions."
        ),
    ] = "",
    admin: Annotated[
        list[str] | None, typer.Option(help="insight, geo: URL of the admin API of each broker.")
    ] = None,
    token_file: Annotated[
        Path | None,
        typer.Option(help="File with the token of the admin APIs (or set GOSSAMER_ADMIN_TOKEN)."),
    ] = None,
    user: User = None,
    password_file: PasswordFile = None,
    tls: Tls = False,
    ca_file: CaFile = None,
    data_loss: Annotated[
        str, typer.Option(help="If retention removed rows before they were read: fail or warn.")
    ] = "fail",
    conf: Conf = None,
    with_parent: Annotated[
        bool, typer.Option("--with-parent", help="Stop at the end of standard input.")
    ] = False,
) -> None:
    """Run a pipeline until Ctrl-C; the next run continues where it stopped."""
    from datetime import timedelta

    found = pipelines()  # before anything that needs Spark
    from gossamer.spark.pipelines.pipeline import PipelineError, PipelineSettings

    try:
        pipeline = found.find(name)
    except PipelineError as problem:
        raise WrongUse(str(problem)) from None
    settings = PipelineSettings(
        brokers=brokers,
        lake=lake,
        filter="\n".join(filter or ["#"]),
        starting=starting,
        source=source_options(user, password_file, tls, ca_file, max_rows, data_loss),
        is_once=once,
        every=seconds_of("--every", every),
        lateness=timedelta(seconds=seconds_of("--lateness", lateness)),
        event_field=event_time,
        window=timedelta(seconds=seconds_of("--window", window)),
        compacts=compact,
        history=timedelta(seconds=seconds_of("--history", history)),
        keeps_messages=messages,
        checkpoints=checkpoints,
        fences=fences,
        admins=admins_of(admin or [], token_file),
    )
    of_spark = pairs_of("--conf", conf or [])
    _check(pipeline, settings, master)
    if with_parent:
        end_with_input()
    _run(pipeline, settings, master, of_spark)


def _check(pipeline: "Pipeline", settings: "PipelineSettings", master: str) -> None:
    """All that can be said without Spark, which takes its time to start."""
    from gossamer.spark.pipelines.pipeline import PipelineError
    from gossamer.spark.pipelines.run import check
    from gossamer.spark.session import CONNECT

    if master.startswith(CONNECT):
        raise WrongUse(f"pipelines need a master, not a Connect server ({master}); see docs")
    try:
        check(pipeline, settings)
    except ValueError as problem:
        raise WrongUse(str(problem).replace("option ", "--", 1)) from None
    except PipelineError as problem:
        raise CommandError(f"{pipeline.name}: {problem}") from None


def _run(
    pipeline: "Pipeline", settings: "PipelineSettings", master: str, conf: dict[str, str]
) -> None:
    from rich.console import Console

    from gossamer.spark.java import NoJava
    from gossamer.spark.pipelines.pipeline import PipelineError
    from gossamer.spark.pipelines.run import PipelineRun
    from gossamer.spark.session import LOCAL, NoMaster, start

    console = Console(stderr=True)
    with PipelineProgress(console, pipeline.name) as progress:
        try:
            spark = start(f"gossamer {pipeline.name}", master or LOCAL, conf)
        except (NoJava, NoMaster) as problem:
            raise CommandError(str(problem)) from None
        try:
            run = PipelineRun(spark, pipeline, settings)
            progress.note("reading the archives")
            with stopping_on_signals(run.stop, progress.note):
                lines = run.follow(progress.show)
        except PipelineError as problem:
            raise CommandError(f"{pipeline.name}: {problem}") from None
        finally:
            spark.stop()
    for line in lines:
        typer.echo(line)


def convert(
    lake: Annotated[str, typer.Option(help="Folder of the lake.")] = "lake",
    master: Master = "",
    conf: Conf = None,
) -> None:
    """Make Delta tables of a lake of an earlier version; a run of a pipeline does it by itself."""
    pipelines()
    from gossamer.spark.java import NoJava
    from gossamer.spark.lake.conversion import prepare
    from gossamer.spark.lake.folders import LakeError
    from gossamer.spark.session import LOCAL, NoMaster, start

    if not Path(lake).is_dir():
        raise WrongUse(f"--lake: there is no folder {lake}")
    try:
        spark = start("gossamer convert", master or LOCAL, pairs_of("--conf", conf or []))
    except (NoJava, NoMaster) as problem:
        raise CommandError(str(problem)) from None
    try:
        converted = prepare(spark, lake, typer.echo)
    except LakeError as problem:
        raise CommandError(str(problem)) from None
    finally:
        spark.stop()
    if not converted:
        typer.echo(f"nothing to convert in {lake}")


# Each operator is a query of its own, and most of them are small.
_DEFAULTS = {"spark.sql.shuffle.partitions": "4"}


def offload(
    url: Annotated[
        str, typer.Option("--url", "-L", help="The broker whose operators Spark computes.")
    ] = "mqtt://127.0.0.1:1883",
    brokers: Annotated[
        str,
        typer.Option(help="Replay services of all brokers with an archive, separated by commas."),
    ] = "127.0.0.1:1885",
    checkpoints: Annotated[
        Path, typer.Option(help="Folder for the checkpoints of the queries, local or shared.")
    ] = Path("offload"),
    master: Master = "",
    lateness: Annotated[
        str, typer.Option(help="Largest clock difference; windows close that much later.")
    ] = "10 s",
    models: Annotated[
        str, typer.Option(help="Folder of the models on the executors, if not the default.")
    ] = "",
    user: User = None,
    password_file: PasswordFile = None,
    tls: Tls = False,
    ca_file: CaFile = None,
    conf: Conf = None,
) -> None:
    """Compute operators that a broker offloads to Spark ([plus.offload]), until Ctrl-C."""
    pipelines()
    from gossamer.spark.java import NoJava
    from gossamer.spark.offload.answers import answer
    from gossamer.spark.session import LOCAL, NoMaster, start
    from gossamer.spark.sink.publisher import SinkError
    from gossamer.vision.settings import WorkerSettings

    source: dict[str, Any] = dict(source_options(user, password_file, tls, ca_file, None, "fail"))
    seconds = seconds_of("--lateness", lateness)
    try:
        spark = start(
            "gossamer offload", master or LOCAL, {**_DEFAULTS, **pairs_of("--conf", conf or [])}
        )
    except (NoJava, NoMaster) as problem:
        raise CommandError(str(problem)) from None
    try:
        answering = answer(
            spark,
            url=url,
            brokers=brokers,
            checkpoints=checkpoints,
            lateness=f"{seconds} seconds",
            vision=WorkerSettings(models) if models else None,
            note=typer.echo,
            **source,
        )
        with answering, stopping_on_signals(answering.stop, lambda _: typer.echo("stopping")):
            answering.run()
    except SinkError as problem:
        raise CommandError(str(problem)) from None
    finally:
        spark.stop()


def seconds_of(option: str, text: str) -> float:
    try:
        return float(parse_duration(text))
    except ValueError as problem:
        raise WrongUse(f"{option}: {problem}; write 30 s, 5 min or 2 h") from None


def pairs_of(option: str, texts: Sequence[str]) -> dict[str, str]:
    for text in texts:
        if "=" not in text:
            raise WrongUse(f"{option} must be NAME=VALUE, not {text!r}")
    return {name: value for name, _, value in (text.partition("=") for text in texts)}


def source_options(
    user: str | None,
    password_file: Path | None,
    tls: bool,
    ca_file: Path | None,
    max_rows: int | None,
    data_loss: str,
) -> dict[str, str]:
    if data_loss not in ("fail", "warn"):
        raise WrongUse(f"--data-loss must be fail or warn, not {data_loss!r}")
    stated = {
        "user": user,
        "password": None if password_file is None else _first_line(password_file),
        "tls": "true" if tls else None,
        "caFile": None if ca_file is None else str(ca_file),
        "maxRowsPerTrigger": None if max_rows is None else str(max_rows),
        "onDataLoss": data_loss,
    }
    return {name: value for name, value in stated.items() if value is not None}


def admins_of(urls: Sequence[str], token_file: Path | None) -> "tuple[AdminAccess, ...]":
    from gossamer.spark.pipelines.pipeline import AdminAccess

    found: list[AdminAccess] = []
    for url in urls:
        parts = urlsplit(url)
        if parts.scheme != "http" or not parts.hostname:
            raise WrongUse(f"--admin expects a URL such as {DEFAULT_URL}, not {url!r}")
        found.append(AdminAccess(parts.hostname, parts.port or 80, read_admin_token(token_file)))
    return tuple(found)


def _first_line(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8").split("\n", 1)[0].rstrip("\r")
    except (OSError, UnicodeDecodeError) as problem:
        raise WrongUse(f"--password-file: cannot read {path}: {problem}") from None


class PipelineProgress:
    """One line that moves on a terminal, or one line a batch where none can."""

    def __init__(self, console: "Console", name: str) -> None:
        self._console = console
        self._name = name
        self._total = 0
        self._status: Status | None = None

    def __enter__(self) -> "PipelineProgress":
        if self._console.is_terminal:
            self._status = self._console.status(f"{self._name}: starting Spark")
            self._status.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._status is not None:
            self._status.stop()

    def show(self, step: "BatchDone") -> None:
        self._total += step.rows
        speed = step.rows / max(step.seconds, 0.001)
        self.note(
            f"batch {step.batch}: {step.rows:,} rows in {step.seconds:.1f} s ({speed:,.0f}/s), "
            f"{step.behind:,} behind; {self._total:,} in this run"
        )

    def note(self, text: str) -> None:
        line = f"{self._name}: {text}"
        if self._status is not None:
            self._status.update(line)
        else:
            self._console.print(line, highlight=False, soft_wrap=True)
