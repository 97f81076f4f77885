"""The client's side of the admin API: blocking, one request a connection."""

import json
from http import HTTPStatus
from http.client import HTTPConnection, HTTPException
from typing import Any, Final
from urllib.parse import urlencode

TIMEOUT_SECONDS: Final = 30.0


class AdminError(Exception):
    """It answered with an error; the text is the API's own."""


class NotThere(AdminError):
    """The broker has no such thing."""


class AdminUnreachable(AdminError):
    """Nothing that speaks the API answers there."""


class AdminClient:
    """One broker's API."""

    def __init__(self, host: str, port: int, token: str) -> None:
        self._host = host
        self._port = port
        self._headers = {"Authorization": f"Bearer {token}"}

    def call(
        self, method: str, path: str, query: dict[str, Any] | None = None, sent: bytes = b""
    ) -> Any:
        """The JSON answer; AdminError if there is none."""
        status, reason, body = self._ask(method, path, query, sent)
        try:
            answer = json.loads(body)
        except ValueError as error:
            raise AdminUnreachable(str(error)) from error
        if status != HTTPStatus.OK:
            kind = NotThere if status == HTTPStatus.NOT_FOUND else AdminError
            raise kind(str(answer.get("error", reason)))
        return answer

    def found(self, path: str, query: dict[str, Any] | None = None) -> Any:
        """The JSON answer to a GET; None where the broker has no such thing."""
        try:
            return self.call("GET", path, query)
        except NotThere:
            return None

    def text(self, path: str) -> str:
        """The answer to a GET as it is; AdminError if it is an error."""
        status, reason, body = self._ask("GET", path, None)
        if status != HTTPStatus.OK:
            raise AdminError(f"{path}: {reason}")
        return body.decode("utf-8", "replace")

    def _ask(
        self, method: str, path: str, query: dict[str, Any] | None, sent: bytes = b""
    ) -> tuple[int, str, bytes]:
        target = path + ("?" + urlencode(query) if query else "")
        connection = HTTPConnection(self._host, self._port, timeout=TIMEOUT_SECONDS)
        try:
            connection.request(method, target, sent or None, self._headers)
            response = connection.getresponse()
            return response.status, response.reason, response.read()
        except (OSError, HTTPException) as error:
            raise AdminUnreachable(getattr(error, "strerror", None) or str(error)) from error
        finally:
            connection.close()
