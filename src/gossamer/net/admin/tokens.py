"""The token of the admin API: read from a file, or made once and kept where only we can read it."""

import hmac
import os
import secrets
from pathlib import Path
from typing import Final

from gossamer.net.config.value_types import ConfigError
from gossamer.storage.files import default_folder

SHORTEST: Final = 16  # characters; what we make has 43
FILE_NAME: Final = "admin.token"


def default_token_file() -> Path:
    """Where the token is if the configuration does not say."""
    return default_folder() / FILE_NAME


def read_token(path: Path) -> str:
    """The first line of the file; ConfigError if it is no token."""
    try:
        token = path.read_text(encoding="ascii").splitlines()[0].strip()
    except OSError as error:
        raise ConfigError(f"{path}: holds no token: {error.strerror}") from error
    except (UnicodeDecodeError, IndexError) as error:
        raise ConfigError(f"{path}: its first line is no token") from error
    if len(token) < SHORTEST:
        raise ConfigError(f"{path}: a token has at least {SHORTEST} characters")
    return token


def token_for(configured: Path | None) -> str:
    """The token in force; made and written where there is no such file."""
    path = configured or default_token_file()
    if not path.exists():
        try:
            _make_token(path)
        except OSError as error:
            raise ConfigError(
                f"admin.token_file = {path}: cannot be made: {error.strerror}"
            ) from error
    return read_token(path)


def _make_token(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    with os.fdopen(os.open(path, os.O_CREAT | os.O_WRONLY | os.O_EXCL, 0o600), "w") as file:
        file.write(secrets.token_urlsafe(32) + "\n")


def is_authorized(headers: dict[str, str], token: str) -> bool:
    """Whether `Authorization: Bearer …` holds the token; takes the same time for all wrong ones."""
    scheme, _, given = headers.get("authorization", "").partition(" ")
    return scheme.lower() == "bearer" and hmac.compare_digest(
        given.strip().encode(), token.encode()
    )
