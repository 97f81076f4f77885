"""The mode of the mesh as its operators decide it, while it runs.

Brokers keep a decision for each other, and it travels like a retained message. So it reaches every
broker, those that are away when they come back, it outlives restarts, and of two decisions the
newer wins. Until there is one, each broker does as it is configured.

No two brokers need to change at the same moment. In which form a broker tells what is wanted behind
it is its own choice for each of its links, and whoever is told takes any form: filters, a summary,
or that everything is wanted. What was known stays in force until the new picture is complete, so
that no message falls between the two. A broker that cannot say exactly what is wanted, because one
of its other neighbours has not said it in filters, says that everything is.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final

from gossamer.broker.delivery import publish
from gossamer.broker.mesh_port import SHARED_TOPICS
from gossamer.broker.subscription_tree import Tap
from gossamer.mesh.settings import MODES
from gossamer.session.message import Message
from gossamer.session.session import Session

if TYPE_CHECKING:
    from gossamer.mesh.mesh import Mesh

logger = logging.getLogger(__name__)

MODE_TOPIC: Final = SHARED_TOPICS + "mode"


class ModeSwitch(Tap):
    """Listens for decisions, and changes this broker's mode at the end of a turn."""

    def __init__(self, mesh: Mesh) -> None:
        self._mesh = mesh
        self._core = mesh.core
        self._wanted = mesh.settings.mode
        self._core.routes.add_tap(MODE_TOPIC, self)

    def load(self, now: float) -> None:
        """What was decided in an earlier life."""
        self._look(now)
        self._mesh.settings.mode = self._wanted

    def decide(self, mode: str, now: float) -> None:
        """For the whole mesh; ValueError if there is no such mode."""
        if mode not in MODES:
            raise ValueError(f"there is no mode {mode!r}; modes are {', '.join(MODES)}")
        message = Message(MODE_TOPIC, mode.encode(), 1, True, None, 0.0, "", "")
        publish(self._core, message, None, now)

    def take(self, message: Message, origin: Session | None, now: float) -> None:
        """News of a decision; what is kept decides, since this may be old."""
        self._look(now)

    def end_turn(self) -> None:
        mesh = self._mesh
        if self._wanted != mesh.settings.mode:
            logger.info("the mesh changes from mode %s to %s", mesh.settings.mode, self._wanted)
            mesh.advertisements.switch(self._wanted)

    def _look(self, now: float) -> None:
        for message in self._core.shared.search(MODE_TOPIC, now):
            mode = message.payload.decode("ascii", "replace")
            if mode in MODES:  # a later release may know more
                self._wanted = mode
