"""Publish and subscribe: build a subscription from choices, see what it is and what it brings."""

import time
from collections.abc import Callable

from nicegui import ui

from gossamer.console import filter_builder
from gossamer.console.console import Console
from gossamer.console.filter_builder import capabilities_of
from gossamer.console.pages.frame import REFRESH_SECONDS
from gossamer.console.parts.broker_choice import BrokerChoice
from gossamer.console.parts.operator_form import OperatorForm
from gossamer.console.parts.panels import columns
from gossamer.console.payloads import preview
from gossamer.console.settings import WatchedBroker
from gossamer.console.try_out import TryOut, publish
from gossamer.geo.glp import POSITION


class PublishForm:
    """`address` is where to; asked when the button is pressed."""

    def __init__(self, address: Callable[[], WatchedBroker]) -> None:
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


SHOWN = 30


def build(console: Console) -> None:
    _ExchangePage(console)


class _ExchangePage:
    def __init__(self, console: Console) -> None:
        self._trial = TryOut()
        self._shown = -1
        self._choice = BrokerChoice(console, self._changed)
        with columns("24rem"):
            with ui.element("section").classes("panel p-4 min-w-0 flex flex-col gap-2"):
                ui.label("Subscribe").classes("font-semibold")
                self._form = OperatorForm(self._describe)
                self._described()
            with ui.element("div").classes("min-w-0 flex flex-col gap-3"):
                with ui.element("section").classes("panel p-4 min-w-0 flex flex-col gap-2"):
                    ui.label("Publish").classes("font-semibold")
                    PublishForm(lambda: self._choice.broker.address)
                with ui.element("section").classes("panel p-4 min-w-0"):
                    self._status = ui.label("Results").classes("font-semibold")
                    self._status.props("role=status")
                    self._results = ui.column().classes("w-full gap-1 mt-2").props("data-results")
        self._describe()
        ui.timer(0, self._offer, once=True)
        ui.timer(REFRESH_SECONDS, self._refresh)
        ui.context.client.on_delete(self._trial.stop)

    def _described(self) -> None:
        with ui.element("div").classes("w-full panel p-3").style("background: var(--ground)"):
            self._filter = ui.label().classes("mono breaks accent").props("data-filter")
            self._properties = ui.label().classes("mono breaks quiet")
            self._trouble = ui.label().classes("text-sm bad breaks").props("role=alert")
            with ui.expansion("Command line").props("dense").classes("w-full text-sm quiet"):
                self._command = ui.label().classes("mono breaks")
        with ui.row().classes("gap-2"):
            self._start = ui.button("Subscribe", on_click=self._subscribe)
            self._start.props("unelevated no-caps data-subscribe")
            self._stop = ui.button("Stop", on_click=self._trial.stop).props("outline no-caps")

    async def _offer(self) -> None:
        self._form.offer(await capabilities_of(self._choice.broker))

    async def _changed(self) -> None:
        await self._trial.stop()
        self._describe()
        await self._offer()

    def _describe(self) -> None:
        built = filter_builder.built(self._form.wanted)
        self._filter.set_text(built.filter)
        self._properties.set_text("\n".join(f"{key} = {text}" for key, text in built.user))
        self._trouble.set_text(built.trouble)
        self._command.set_text(built.command(self._choice.broker.address.mqtt_url))
        self._start.set_enabled(not built.trouble)

    async def _subscribe(self) -> None:
        built = filter_builder.built(self._form.wanted)
        await self._trial.subscribe(self._choice.broker.address, built.filter, list(built.user))
        self._trouble.set_text(self._trial.trouble)
        self._refresh()

    def _refresh(self) -> None:
        trial = self._trial
        self._stop.set_enabled(bool(trial.filter))
        state = f"{trial.count:,} results for {trial.filter}" if trial.filter else "Results"
        self._status.set_text(state)
        if trial.count == self._shown:
            return
        self._shown = trial.count
        self._results.clear()
        with self._results:
            for seen in list(trial.results)[: -SHOWN - 1 : -1]:
                at = time.strftime("%H:%M:%S", time.localtime(seen.at))
                with ui.element("div").classes("w-full"):
                    ui.label(f"{at}  {seen.topic}").classes("mono quiet truncate")
                    ui.label(preview(seen.payload, 200)).classes("mono breaks")
