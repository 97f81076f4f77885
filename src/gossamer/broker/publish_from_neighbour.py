"""A message with a name, from a neighbour: it may have come before, or have to go to everybody."""

from gossamer.broker.core import Core
from gossamer.broker.delivery import (
    distribute,
    distribute_here,
    distribute_onwards,
    distribute_retained,
)
from gossamer.broker.mesh_port import NEW, PASSED, REPEATED
from gossamer.broker.position_privacy import distribute_guarded
from gossamer.broker.routes import Route
from gossamer.session.message import Message
from gossamer.session.session import Session


def distribute_arrived(
    core: Core, message: Message, route: Route, origin: Session, now: float
) -> None:
    """Once for each name, whatever way it takes."""
    verdict, message = core.neighbours.admit(origin, message, now)
    if verdict == REPEATED:
        return
    if verdict == PASSED:
        distribute_onwards(core, message, origin, now)
        return
    is_guarded = (
        core.permissions.guards_positions and core.locations.place(message, now) is not None
    )
    # What is retained goes to every neighbour in any case.
    if verdict == NEW or message.retain:
        if is_guarded:
            distribute_guarded(core, message, route, origin, now)
        elif message.retain:
            distribute_retained(core, message, route, origin, now)
        else:
            distribute(message, route, origin, now)
        return
    if is_guarded:
        distribute_guarded(core, message, route, origin, now, here_only=True)
    else:
        distribute_here(message, route, origin, now)
    distribute_onwards(core, message, origin, now)
