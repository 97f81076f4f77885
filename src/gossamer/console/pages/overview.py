"""Overview: how every broker is, and how much passes through it, now and in the last minutes."""

import time
from typing import Final

from nicegui import ui

from gossamer.console.broker_watch import BrokerWatch
from gossamer.console.console import Console
from gossamer.console.pages.frame import REFRESH_SECONDS
from gossamer.console.parts.figures import short, size, span
from gossamer.console.parts.panels import LineChart, Tile, columns, row_of_tiles

SLOW_ANSWER: Final = 1.0  # seconds; a broker that takes longer to answer is worth a look


def build(console: Console) -> None:
    totals = _Totals(console)
    with columns("19rem"):
        shown = [_BrokerCard(broker) for broker in console.brokers]
    with ui.element("div").classes("w-full flex flex-wrap gap-3"):
        messages = LineChart("Messages received per second, from clients and neighbours")
        traffic = LineChart("Bytes sent per second")

    def refresh() -> None:
        totals.refresh()
        for card in shown:
            card.refresh()
        for chart, name in ((messages, "messages_received_total"), (traffic, "bytes_sent_total")):
            _draw(chart, console, name)

    refresh()
    ui.timer(REFRESH_SECONDS, refresh)


def _draw(chart: LineChart, console: Console, name: str) -> None:
    shift = time.time() - time.monotonic()
    times = max((broker.rates.times for broker in console.brokers), key=len)
    chart.show(
        [at + shift for at in times],
        {
            broker.name: list(broker.rates.history[name])[-len(times) :]
            for broker in console.brokers
        },
    )


class _Totals:
    """The sum over all brokers."""

    def __init__(self, console: Console) -> None:
        self._console = console
        with row_of_tiles():
            self.received = Tile("Messages in per second")
            self.sent = Tile("Messages out per second")
            self.clients = Tile("Clients connected")
            self.subscriptions = Tile("Subscriptions")
            self.retained = Tile("Retained messages")
            self.lag = Tile("Queued on links")
            self.lost = Tile("Dropped or expired")
            self.pipeline = None if console.lake is None else Tile("Pipeline lag")

    def refresh(self) -> None:
        brokers = [broker for broker in self._console.brokers if broker.is_up]

        def total(name: str) -> float:
            return sum(broker.readings.get(name, 0.0) for broker in brokers)

        self.received.show(short(sum(b.rates.latest("messages_received_total") for b in brokers)))
        self.sent.show(short(sum(b.rates.latest("messages_sent_total") for b in brokers)))
        self.clients.show(short(total("connections_open")))
        self.subscriptions.show(short(total("subscriptions")))
        # In a mesh every broker has all of them.
        retained = max((b.readings.get("retained_messages", 0.0) for b in brokers), default=0.0)
        self.retained.show(short(retained))
        lag = sum(broker.lag for broker in brokers)
        self.lag.show(short(lag), "warn" if lag else "")
        lost = sum(broker.lost for broker in brokers)
        self.lost.show(short(lost), "warn" if lost else "")
        view = self._console.lake_view
        if self.pipeline is not None:
            behind = None if view is None else view.lag
            self.pipeline.show("–" if behind is None else span(behind))


class _BrokerCard:
    """One broker: whether it is well, and its figures."""

    def __init__(self, broker: BrokerWatch) -> None:
        self._broker = broker
        with ui.element("section").classes("panel p-4 min-w-0"):
            with ui.row().classes("items-center gap-2 no-wrap"):
                self._mark = ui.icon("circle", size=".8rem").props("aria-hidden=true")
                self._name = ui.label().classes("font-semibold")
                self._state = ui.label().classes("text-sm quiet")
            self._trouble = ui.label().classes("text-sm bad breaks")
            with ui.element("dl").classes("grid grid-cols-2 gap-x-4 gap-y-1 mt-2 text-sm"):
                self._values = {
                    name: self._line(name)
                    for name in ("in", "out", "clients", "sessions", "queued", "response time")
                }
            ui.label(broker.address.mqtt_url).classes("mono quiet mt-2 breaks")

    @staticmethod
    def _line(name: str) -> ui.label:
        with ui.element("div").classes("flex justify-between gap-2 no-wrap"):
            ui.label(name).classes("quiet")
            return ui.label("–").classes("font-medium").style("font-variant-numeric: tabular-nums")

    def refresh(self) -> None:
        broker = self._broker
        tone = "bad" if not broker.is_up else "good"
        if broker.is_up and broker.answer_seconds > SLOW_ANSWER:
            tone = "warn"
        self._mark.classes(replace=tone)
        self._name.set_text(broker.name)
        state = f"up {span(broker.uptime)} · {broker.version}" if broker.is_up else "unreachable"
        self._state.set_text(state)
        self._trouble.set_text(broker.trouble)
        self._trouble.set_visibility(bool(broker.trouble))
        readings = broker.readings
        values = {
            "in": _flow(broker, "received"),
            "out": _flow(broker, "sent"),
            "clients": short(readings.get("connections_open", 0.0)),
            "sessions": short(readings.get("sessions", 0.0)),
            "queued": short(broker.lag),
            "response time": f"{broker.answer_seconds * 1000:.0f} ms",
        }
        for name, text in values.items():
            self._values[name].set_text(text)


def _flow(broker: BrokerWatch, way: str) -> str:
    messages = broker.rates.latest(f"messages_{way}_total")
    volume = broker.rates.latest(f"bytes_{way}_total")
    return f"{short(messages)}/s, {size(volume)}/s"
