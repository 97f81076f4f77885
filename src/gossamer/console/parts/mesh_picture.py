"""The mesh as an SVG picture: brokers in layers below the best connected, links between them."""

import math
from collections import deque
from html import escape
from typing import Final

from gossamer.console.mesh_graph import DOWN, MeshGraph, Node
from gossamer.console.parts.figures import short, size

COLUMN: Final = 190
LAYER: Final = 140
NODE_WIDTH: Final = 108
NODE_HEIGHT: Final = 44
MARGIN: Final = 80
SAG: Final = 46
LARGEST: Final = 1.4  # times as large as it is measured

STYLE: Final = """
.mesh { display: block; margin: 0 auto; width: 100%; max-height: 34rem; }
.mesh path { stroke: var(--accent); fill: none; }
.mesh [data-state=standby] path { stroke: var(--warn); stroke-dasharray: 7 6; }
.mesh [data-state=down] path { stroke: var(--bad); stroke-dasharray: 2 7; }
.mesh text { fill: var(--ink); font-size: 12px; text-anchor: middle; }
.mesh .figures { fill: var(--quiet); font-size: 11px; paint-order: stroke;
        stroke: var(--surface); stroke-width: 6px; }
.mesh rect { fill: var(--ground); stroke: var(--good); stroke-width: 2; }
.mesh [data-up=no] rect { stroke: var(--bad); stroke-dasharray: 4 4; }
.mesh [data-watched=no] rect { stroke: var(--quiet); }
.mesh .name { font-weight: 600; font-size: 14px; }
"""

Place = tuple[float, float]


def places(graph: MeshGraph) -> dict[str, Place]:
    """Where each broker is drawn; links that are down count, so that a cut moves nothing."""
    beside: dict[str, list[str]] = {name: [] for name in sorted(graph.nodes)}
    for near, far in sorted(graph.links):
        beside[near].append(far)
        beside[far].append(near)
    layers: list[list[str]] = []
    seen: set[str] = set()
    for root in sorted(beside, key=lambda name: (-len(beside[name]), name)):
        if root in seen:
            continue
        seen.add(root)
        waiting = deque([(root, 0)])
        while waiting:
            name, depth = waiting.popleft()
            while len(layers) <= depth:
                layers.append([])
            layers[depth].append(name)
            for other in beside[name]:
                if other not in seen:
                    seen.add(other)
                    waiting.append((other, depth + 1))
    widest = max((len(layer) for layer in layers), default=1)
    return {
        name: (
            MARGIN + COLUMN * ((widest - len(layer)) / 2 + column),
            MARGIN / 2 + LAYER * depth,
        )
        for depth, layer in enumerate(layers)
        for column, name in enumerate(layer)
    }


def picture(graph: MeshGraph) -> str:
    """Names come from brokers, so they are escaped."""
    at = places(graph)
    if not at:
        return ""
    width = max(x for x, _ in at.values()) + MARGIN
    height = max(y for _, y in at.values()) + MARGIN / 2 + SAG
    links = "".join(_link(graph, pair, at) for pair in sorted(graph.links))
    nodes = "".join(_node(node, at[name]) for name, node in sorted(graph.nodes.items()))
    label = f"{len(graph.nodes)} brokers and {len(graph.links)} links"
    return (
        f'<svg class="mesh" viewBox="0 0 {width:.0f} {height:.0f}" role="img" '
        f'style="max-width: {LARGEST * width:.0f}px" '
        f'aria-label="{label}">{links}{nodes}</svg>'
    )


def _link(graph: MeshGraph, pair: tuple[str, str], at: dict[str, Place]) -> str:
    link = graph.links[pair]
    (x1, y1), (x2, y2) = at[link.near], at[link.far]
    thick = 2 + min(6.0, math.log10(1 + link.bytes))
    words = f"{short(link.messages)}/s · {size(link.bytes)}/s"
    if link.state == DOWN:
        words = f"{short(link.queued)} queued"
    # Between brokers of one layer it hangs down, past those that stand between them.
    sag = SAG if y1 == y2 else 0
    x, y = (x1 + x2) / 2, (y1 + y2) / 2 + sag
    return (
        f'<g data-link="{escape(link.near)} {escape(link.far)}" data-state="{link.state}">'
        f"<title>{escape(link.near)} – {escape(link.far)}: {link.state}</title>"
        f'<path d="M {x1:.0f} {y1:.0f} Q {x:.0f} {y + sag:.0f} {x2:.0f} {y2:.0f}" '
        f'stroke-width="{thick:.1f}"/>'
        f'<text class="figures" x="{x:.0f}" y="{y + (20 if sag else 4):.0f}">{words}</text></g>'
    )


def _node(node: Node, place: Place) -> str:
    x, y = place
    marks = f'data-up="{_yes(node.is_up)}" data-watched="{_yes(node.is_watched)}"'
    return (
        f'<g data-node="{escape(node.name)}" {marks}><title>{escape(node.name)}</title>'
        f'<rect x="{x - NODE_WIDTH / 2:.0f}" y="{y - NODE_HEIGHT / 2:.0f}" rx="9" '
        f'width="{NODE_WIDTH}" height="{NODE_HEIGHT}"/>'
        f'<text class="name" x="{x:.0f}" y="{y + 5:.0f}">{escape(node.name[:14])}</text></g>'
    )


def _yes(value: bool) -> str:
    return "yes" if value else "no"
