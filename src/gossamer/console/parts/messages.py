"""Messages as a person reads them: JSON pretty, images shown, numbers as a line."""

import time
from array import array
from collections.abc import Sequence
from typing import Final

from nicegui import ui

from gossamer.console.parts.figures import HEIGHT, WIDTH, points
from gossamer.console.payloads import preview, show
from gossamer.console.topic_model import SeenTopic, Topic

EARLIER: Final = 20  # messages listed below the last one


class MessageList:
    """The last message of a topic in full, and the ones before it in a line each."""

    def __init__(self) -> None:
        self._shown: tuple[SeenTopic | None, int] = (None, 0)
        self._box = ui.column().classes("w-full gap-2")
        self.clear()

    def clear(self) -> None:
        self._shown = (None, 0)
        self._box.clear()
        with self._box:
            ui.label("Choose a topic to see its messages.").classes("quiet")

    def show(self, topic: Topic) -> None:
        tail = list(topic.tail or ())
        state = (tail[-1] if tail else None, topic.count)
        if state == self._shown:
            return
        self._shown = state
        self._box.clear()
        with self._box:
            ui.label(topic.path).classes("font-semibold mono breaks").props("data-topic")
            if not tail:
                ui.label(f"{len(topic.children):,} topics below").classes("quiet")
                return
            if topic.numbers is not None and len(topic.numbers) > 1:
                _line(topic.numbers)
            message(tail[-1])
            _earlier(tail[-2 : -2 - EARLIER : -1])


def message(seen: SeenTopic) -> None:
    """One message in full."""
    facts = [time.strftime("%H:%M:%S", time.localtime(seen.at)), f"QoS {seen.qos}"]
    facts += ["retained"] if seen.retain else []
    facts += [f"{len(seen.payload):,} bytes"]
    facts += [seen.content_type] if seen.content_type else []
    ui.label(" · ".join(facts)).classes("text-xs quiet")
    shown = show(seen.payload)
    if shown.kind == "image":
        ui.image(shown.text).classes("max-w-full rounded").props('alt="the image in the message"')
    elif shown.kind == "number":
        ui.label(shown.text).classes("figure accent").props("data-payload")
    elif shown.kind == "empty":
        ui.label("(empty)").classes("quiet")
    else:
        text = ui.label(shown.text).classes("mono breaks w-full max-h-96 overflow-auto")
        text.props('data-payload tabindex="0"')
    for key, value in seen.user:
        ui.label(f"{key} = {value}").classes("mono quiet breaks")


def _line(numbers: "array[float]") -> None:
    low, high = min(numbers), max(numbers)
    # Only numbers of our own making are in it.
    ui.html(
        f'<svg viewBox="0 0 {WIDTH:g} {HEIGHT:g}" preserveAspectRatio="none" role="img" '
        f'aria-label="recent values" style="width:100%;height:4rem">'
        f'<polyline points="{points(numbers)}" fill="none" stroke="#14b8a6" stroke-width="2" '
        'vector-effect="non-scaling-stroke"/></svg>',
        sanitize=False,
    ).classes("w-full")
    ui.label(f"{low:g} to {high:g} in the last {len(numbers)}").classes("text-xs quiet")


def _earlier(messages: Sequence[SeenTopic]) -> None:
    for seen in messages:
        at = time.strftime("%H:%M:%S", time.localtime(seen.at))
        with ui.row().classes("w-full gap-3 no-wrap"):
            ui.label(at).classes("mono quiet shrink-0")
            ui.label(preview(seen.payload, 100)).classes("mono truncate min-w-0")
