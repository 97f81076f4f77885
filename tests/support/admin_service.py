"""The admin API of a live broker, for programs that ask it."""

from typing import Final

from gossamer.net.admin.server import AdminServer
from gossamer.net.config.observe import Admin
from tests.support.live import LiveBroker

TOKEN: Final = "a-token-for-the-tests"


async def _no_reload() -> list[str]:
    return []


def admin_port(broker: LiveBroker) -> int:
    """Starts it; it ends with the broker's thread."""

    async def start() -> int:
        return await AdminServer(broker.broker, Admin(port=0), TOKEN, _no_reload).open()

    return broker.call(start())
