"""Which broker a page is about, where there are several."""

from collections.abc import Callable
from inspect import isawaitable
from typing import Any

from nicegui import ui

from gossamer.console.broker_watch import BrokerWatch
from gossamer.console.console import Console
from gossamer.console.watcher import Watcher


class BrokerChoice:
    """Shown only if there is something to choose."""

    def __init__(self, console: Console, on_change: Callable[[], Any]) -> None:
        self._console = console
        self._number = 0
        self._on_change = on_change
        if len(console.brokers) > 1:
            names = {number: broker.name for number, broker in enumerate(console.brokers)}
            select = ui.select(names, value=0, label="Broker", on_change=self._chosen)
            select.props("dense outlined options-dense").classes("min-w-[9rem]")
            self._select = select

    @property
    def broker(self) -> BrokerWatch:
        return self._console.brokers[self._number]

    @property
    def watcher(self) -> Watcher:
        return self._console.watchers[self._number]

    @property
    def name(self) -> str:
        return self.broker.name

    async def _chosen(self) -> None:
        self._number = int(self._select.value)
        answer = self._on_change()
        if isawaitable(answer):
            await answer
