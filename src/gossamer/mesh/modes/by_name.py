"""The modes by name: how a neighbour is told what is wanted."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gossamer.mesh.modes.auto import AutoTeller
from gossamer.mesh.modes.bloom import SummaryTeller
from gossamer.mesh.modes.sf import FloodingTeller
from gossamer.mesh.modes.ssf import SelectiveTeller
from gossamer.mesh.modes.teller import Teller

if TYPE_CHECKING:
    from gossamer.mesh.mesh import Mesh


def teller_for(mesh: Mesh, name: str) -> Teller:
    """The teller of one link; `name` is the neighbour's."""
    mode = mesh.settings.mode
    if mode == "sf":
        return FloodingTeller()
    if mode == "ssf":
        return SelectiveTeller()
    if mode == "auto":
        return AutoTeller(mesh.choosing.flooded)
    if mode == "bloom":
        return SummaryTeller(mesh.summaries, name)
    return Teller()
