"""Reads the archive of a broker through its replay service. Blocking, for any program.

Needs nothing but pyarrow: it runs on Spark's executors.

    address = Address("127.0.0.1", 1885)
    told = describe(address, Credentials("ann", "secret"))
    for batch in read(address, Credentials("ann", "secret"), Request(["a/#"], end=told["next"])):
        ...
"""

import io
import socket
import ssl
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import Any, Final, cast

import pyarrow as pa

from gossamer.archive.replay_protocol import (
    FAILED,
    LOST,
    MOST_ANSWER_BYTES,
    UNTRUSTED,
    VERSION,
    BadFrame,
    check_version,
    frame,
    read_frame,
)

DEFAULT_PORT: Final = 1885
READ_BYTES: Final = 1 << 16  # from the socket at a time


@dataclass(frozen=True)
class Address:
    """Where a replay service is. With `tls`, `ca_file` names the authorities to trust (the
    system's by default)."""

    host: str
    port: int = DEFAULT_PORT
    tls: bool = False
    ca_file: str | None = None
    timeout: float | None = 60.0  # seconds without a byte; None to wait for ever

    def __str__(self) -> str:
        return f"{self.host}:{self.port}"


@dataclass(frozen=True)
class Credentials:
    """Who asks: a name and a password, or a token, as for an MQTT login."""

    user: str | None = None
    password: str | None = None
    token: str | None = None


@dataclass(frozen=True)
class Request:
    """Rows on topics of the filters, with offsets in [start, end) and times in [start_time,
    end_time) (microseconds). Without an end it is what is there now; `tail` waits for what is not
    there yet, for ever where there is no end."""

    filters: Sequence[str] = ("#",)
    start: int = 0
    end: int | None = None
    start_time: int | None = None
    end_time: int | None = None
    columns: Sequence[str] | None = None
    max_rows: int | None = None
    tail: bool = False


class ReplayError(Exception):
    """The service does not answer as asked; `code` is one of those in `replay_protocol`."""

    def __init__(self, text: str, code: str = FAILED) -> None:
        super().__init__(text)
        self.code = code


class OffsetsLost(ReplayError):
    """Offsets [start, end) are not there any more; `earliest` is the first that is."""

    def __init__(self, text: str, start: int, end: int, earliest: int) -> None:
        super().__init__(text, LOST)
        self.start = start
        self.end = end
        self.earliest = earliest


class Unreachable(ReplayError):
    """Nobody there, or the connection broke: worth another try."""


def describe(
    address: Address, credentials: Credentials, *, segments: bool = True, files: bool = False
) -> dict[str, Any]:
    """The broker's name, its `earliest` and `next` offsets, and its segments; and, for a login that
    may read everything, their files (`segment_files.py`)."""
    return _ask(address, credentials, {"action": "describe", "segments": segments, "files": files})


def locate(address: Address, credentials: Credentials, time: int) -> int:
    """The first offset whose time is not before `time` (microseconds)."""
    return int(_ask(address, credentials, {"action": "locate", "time": time})["offset"])


def read(address: Address, credentials: Credentials, request: Request) -> Iterator[pa.RecordBatch]:
    """The rows, in order. Whatever keeps the stream from being complete is raised."""
    asked = asdict(request)
    message = {"action": "read", "filter": asked.pop("filters"), **asked}
    with _exchange(address, credentials, message) as source:
        _answer(source, address)
        with pa.ipc.open_stream(pa.PythonFile(source, "r")) as stream:
            for batch in stream:
                if batch.num_rows:  # an empty one only says that the broker lives
                    yield batch
        _answer(source, address)


def fetch(
    address: Address, credentials: Credentials, first: int, start: int, end: int
) -> tuple[int, list[tuple[int, bytes]]]:
    """Of the sealed segment that begins with offset `first`: its size as a file, and those parts of
    it, each with its place, that a reader of the offsets [start, end) needs (`segment_bytes.py`).
    For a login that may read everything."""
    message = {"action": "segment", "first": first, "start": start, "end": end}
    with _exchange(address, credentials, message) as source:
        answer = _answer(source, address)
        found = []
        for at, size in answer["parts"]:
            data = source.read(size)
            if len(data) < size:
                raise Unreachable(f"{address}: the connection broke off")
            found.append((int(at), data))
    return int(answer["size"]), found


def _ask(address: Address, credentials: Credentials, message: dict[str, Any]) -> dict[str, Any]:
    with _exchange(address, credentials, message) as source:
        return _answer(source, address)


def _answer(source: io.BufferedReader, address: Address) -> dict[str, Any]:
    """The next frame, if it is no refusal."""

    def exactly(size: int) -> bytes:
        data = source.read(size)
        if len(data) < size:
            raise Unreachable(f"{address}: the connection broke off")
        return data

    return _checked(read_frame(exactly, MOST_ANSWER_BYTES))


def _checked(answer: dict[str, Any]) -> dict[str, Any]:
    check_version(answer, "this reader")
    if answer.get("ok"):
        return answer
    text = str(answer.get("error", "refused by the service"))
    code = str(answer.get("code", FAILED))
    if code == LOST:
        raise OffsetsLost(text, int(answer["start"]), int(answer["end"]), int(answer["earliest"]))
    raise ReplayError(text, code)


@contextmanager
def _exchange(
    address: Address, credentials: Credentials, message: dict[str, Any]
) -> Iterator[io.BufferedReader]:
    try:
        with _connected(address) as connection, connection.makefile("rb", READ_BYTES) as source:
            connection.sendall(frame({"version": VERSION, **asdict(credentials), **message}))
            yield cast("io.BufferedReader", source)
    except ssl.SSLCertVerificationError as error:
        raise ReplayError(
            f"the certificate of {address} is not trusted: {error.verify_message}", UNTRUSTED
        ) from error
    except BadFrame as error:
        raise ReplayError(f"the answer of {address} cannot be read: {error}") from error
    except OSError as error:
        raise Unreachable(f"{address}: {error.strerror or error}") from error


def _connected(address: Address) -> socket.socket:
    connection = socket.create_connection((address.host, address.port), address.timeout)
    if not address.tls:
        return connection
    context = ssl.create_default_context(cafile=address.ca_file)
    return context.wrap_socket(connection, server_hostname=address.host)
