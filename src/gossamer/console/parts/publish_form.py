"""The form that publishes one message."""

from collections.abc import Callable

from nicegui import ui

from gossamer.console.settings import BrokerAddress
from gossamer.console.trial import publish
from gossamer.geo.glp import POSITION


class PublishForm:
    """`address` is where to; asked when the button is pressed."""

    def __init__(self, address: Callable[[], BrokerAddress]) -> None:
        self._address = address
        self._topic = ui.input("Topic").props('dense outlined aria-label="Topic"').classes("w-full")
        self._payload = ui.textarea("Payload").props('dense outlined autogrow aria-label="Payload"')
        self._payload.classes("w-full mono")
        with ui.element("div").classes("w-full flex flex-wrap items-center gap-2"):
            self._qos = ui.select({0: "QoS 0", 1: "QoS 1", 2: "QoS 2"}, value=0)
            self._qos.props('dense outlined options-dense aria-label="QoS"')
            self._position = ui.input(placeholder="latitude;longitude")
            self._position.props('dense outlined aria-label="Position"').classes("grow basis-32")
            self._retain = ui.checkbox("Retain")
            send = ui.button("Publish", on_click=self._send)
            send.props("unelevated no-caps data-publish")
        self._answer = ui.label().classes("text-sm").props("role=status")

    async def _send(self) -> None:
        place = self._position.value.strip()
        trouble = await publish(
            self._address(),
            self._topic.value,
            self._payload.value or "",
            int(self._qos.value),
            bool(self._retain.value),
            [(POSITION, place)] if place else [],
        )
        self._answer.classes(replace="text-sm " + ("bad" if trouble else "good"))
        self._answer.set_text(trouble or f"published on {self._topic.value}")
