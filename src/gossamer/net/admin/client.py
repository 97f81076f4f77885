"""The client's side of the admin API: blocking, one request a connection."""

import json
from http.client import HTTPConnection, HTTPException
from typing import Any, Final
from urllib.parse import urlencode

TIMEOUT_SECONDS: Final = 30.0


class AdminError(Exception):
    """It answered with an error; the text is the API's own."""


class Unreachable(AdminError):
    """Nothing that speaks the API answers there."""


class AdminClient:
    """One broker's API."""

    def __init__(self, host: str, port: int, token: str) -> None:
        self._host = host
        self._port = port
        self._headers = {"Authorization": f"Bearer {token}"}

    def call(self, method: str, path: str, query: dict[str, Any] | None = None) -> Any:
        """The JSON answer; AdminError if there is none."""
        target = path + ("?" + urlencode(query) if query else "")
        connection = HTTPConnection(self._host, self._port, timeout=TIMEOUT_SECONDS)
        try:
            connection.request(method, target, headers=self._headers)
            response = connection.getresponse()
            answer = json.loads(response.read())
        except (OSError, HTTPException, ValueError) as error:
            raise Unreachable(str(error)) from error
        finally:
            connection.close()
        if response.status != 200:
            raise AdminError(str(answer.get("error", response.reason)))
        return answer
