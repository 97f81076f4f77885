"""`$SYS/capabilities`: every operator of this broker, and which of them it has no time for now.

A broker whose workers are behind takes no further subscriptions to what they do: whoever asks is
told when to try again, and what is subscribed already goes on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from gossamer.broker.delivery import publish
from gossamer.broker.operator_subscriptions import RESULT_QOS
from gossamer.broker.timers import Timer
from gossamer.plus.plan import OperatorPlan
from gossamer.plus.vocabulary import CAPABILITIES_TOPIC
from gossamer.session.message import Message

if TYPE_CHECKING:
    from gossamer.broker.core import Core

# How soon a change is told; a worker takes a good part of that for one image.
_LOOK_SECONDS: Final = 1.0


def too_busy(core: Core, plan: OperatorPlan) -> str:
    """Why another subscription to a processor has to wait, and for how long; "" if it has not."""
    processor = plan.processor
    if processor is None:
        return ""
    engine = core.operators.engine
    if engine.offloads is not None and engine.offloads.takes(plan):
        return ""
    seconds = core.operators.processors.busy_seconds()
    return "" if not seconds else f"${processor.keyword}: {_reason(core)}; try again in {seconds} s"


def _reason(core: Core) -> str:
    return f"the workers are behind, {core.operators.processors.waiting} publications wait for them"


class Capabilities(Timer):
    """Retained from the start, and again whenever workers fall behind or have caught up."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self._was_busy = False

    def begin(self, now: float) -> None:
        self._tell(0, now)
        if self._core.operators.engine.vocabulary.processors:
            self._core.timers.add(now + _LOOK_SECONDS, self)

    def fire(self, now: float) -> float:
        seconds = self._core.operators.processors.busy_seconds()
        if (seconds > 0) != self._was_busy:
            self._was_busy = seconds > 0
            self._tell(seconds, now)
        return now + _LOOK_SECONDS

    def _tell(self, seconds: int, now: float) -> None:
        core = self._core
        reason = _reason(core) if seconds else ""
        listed = core.operators.engine.vocabulary.capabilities(reason, seconds)
        message = Message(CAPABILITIES_TOPIC, listed, RESULT_QOS, True, None, 0.0, "", "")
        publish(core, message, None, now)
