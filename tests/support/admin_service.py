"""The admin API of a live broker, for programs that ask it."""

from typing import Any, Final, get_type_hints

from pydantic import TypeAdapter

from gossamer.net.admin.server import AdminServer
from gossamer.net.config.root import Admin
from tests.support.live import LiveBroker

TOKEN: Final = "a-token-for-the-tests"


async def _no_reload() -> list[str]:
    return []


def admin_port(broker: LiveBroker) -> int:
    """Starts it; it ends with the broker's thread."""

    async def start() -> int:
        return await AdminServer(broker.broker, Admin(port=0), TOKEN, _no_reload).open()

    return broker.call(start())


def assert_as_documented(server: AdminServer, path: str, answer: Any) -> None:
    """The answer of GET has exactly the fields that the document says, of these types."""
    call = next(one.call for one in server.routes if (one.method, one.path) == ("GET", path))
    told: TypeAdapter[Any] = TypeAdapter(get_type_hints(call)["return"])
    assert told.dump_python(told.validate_python(answer), mode="json") == answer, path
