"""What was asked of a pipeline on the command line, checked before Spark is started."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from gossamer.cli.ctl.api import DEFAULT_URL, read_admin_token
from gossamer.cli.errors import WrongUse
from gossamer.net.config.units import parse_duration

if TYPE_CHECKING:
    from gossamer.spark.pipelines.pipeline import Admin


def seconds_of(option: str, text: str) -> float:
    try:
        return float(parse_duration(text))
    except ValueError as problem:
        raise WrongUse(f"{option}: {problem}: {text!r}; write 30 s, 5 min or 2 h") from None


def pairs_of(option: str, texts: Sequence[str]) -> dict[str, str]:
    for text in texts:
        if "=" not in text:
            raise WrongUse(f"{option} is NAME=VALUE, not {text!r}")
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
        raise WrongUse(f"--data-loss is fail or warn, not {data_loss!r}")
    stated = {
        "user": user,
        "password": None if password_file is None else _first_line(password_file),
        "tls": "true" if tls else None,
        "caFile": None if ca_file is None else str(ca_file),
        "maxRowsPerTrigger": None if max_rows is None else str(max_rows),
        "onDataLoss": data_loss,
    }
    return {name: value for name, value in stated.items() if value is not None}


def admins_of(urls: Sequence[str], token_file: Path | None) -> "tuple[Admin, ...]":
    from gossamer.spark.pipelines.pipeline import Admin

    found: list[Admin] = []
    for url in urls:
        parts = urlsplit(url)
        if parts.scheme != "http" or not parts.hostname:
            raise WrongUse(f"--admin is like {DEFAULT_URL}, not {url!r}")
        found.append(Admin(parts.hostname, parts.port or 80, read_admin_token(token_file)))
    return tuple(found)


def _first_line(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8").split("\n", 1)[0].rstrip("\r")
    except (OSError, UnicodeDecodeError) as problem:
        raise WrongUse(f"--password-file: cannot read {path}: {problem}") from None
