"""The element that shows a `TopicModel`: rows in sight and a few around them, nothing else."""

import time
from collections.abc import Callable
from typing import Any, Final

from nicegui import ui
from nicegui.element import Element
from nicegui.events import GenericEventArguments

from gossamer.console.parts.figures import points, short
from gossamer.console.payloads import preview
from gossamer.console.topic_model import TopicModel, TopicRow

ROW_HEIGHT: Final = 28  # pixels
FEWEST_ROWS: Final = 30
MOST_ROWS: Final = 200  # whatever a browser asks for
SEARCH_SECONDS: Final = 3.0
AROUND: Final = 15  # rows above and below those in sight, so that scrolling finds some there

STYLE: Final = """
.tree { overflow-y: auto; height: min(70vh, 44rem); position: relative; }
.tree-all { position: relative; min-height: 100%; }
.tree-row { position: absolute; left: 0; right: 0; display: flex; align-items: center; gap: .5rem;
        cursor: pointer; padding-right: .6rem; white-space: nowrap; font-size: .875rem; }
.tree-row:hover { background: rgba(100, 116, 139, .12); }
.tree-row.chosen { background: rgba(20, 184, 166, .2); }
.tree-arrow { width: 1rem; text-align: center; flex: none; color: var(--quiet); }
.tree-name { font-weight: 500; flex: none; max-width: 55%; overflow: hidden;
        text-overflow: ellipsis; }
.tree-more { font-size: .7rem; color: var(--quiet); border: 1px solid var(--line);
        border-radius: 8px; padding: 0 .4rem; flex: none; }
.tree-value { flex: 1 1 0; min-width: 0; overflow: hidden; text-overflow: ellipsis;
        color: var(--quiet); font-size: .8rem; }
.tree-line { width: 70px; height: 18px; flex: none; }
.tree-line polyline { fill: none; stroke: var(--accent); stroke-width: 1.5;
        vector-effect: non-scaling-stroke; }
.tree-count { color: var(--quiet); font-size: .75rem; flex: none; min-width: 2.6rem;
        text-align: right; font-variant-numeric: tabular-nums; }
@media (max-width: 600px) { .tree { height: 45vh; } .tree-line { width: 44px; } }
"""


class TopicTree(Element, component="topic_tree.js"):
    """Opened branches and the place in the list are this page's own; the model is everybody's."""

    def __init__(self, model: Callable[[], TopicModel], on_choose: Callable[[str], None]) -> None:
        super().__init__()
        ui.add_css(STYLE)
        self.chosen = ""
        self.wanted = ""  # what is searched for
        self._model = model
        self._on_choose = on_choose
        self._opened: set[str] = set()
        self._searched: tuple[str, int] = ("", 0)
        self._found: list[TopicRow] = []
        self._first = 0
        self._count = FEWEST_ROWS
        self._props["rowHeight"] = ROW_HEIGHT
        self.on("window", self._moved)
        self.on("toggle", self._toggled)
        self.on("choose", self._chosen)
        self.refresh()

    def refresh(self) -> None:
        offset = max(0, self._first - AROUND)
        limit = min(self._count + 2 * AROUND, MOST_ROWS)
        if self.wanted:
            found = self._search()
            rows, total = found[offset : offset + limit], len(found)
        else:
            rows, total = self._model().window(self._opened, offset, limit)
        shown = [self._shown(row) for row in rows]
        if (shown, total, offset, self.chosen) == self._sent():
            return
        self._props["rows"] = shown
        self._props["total"] = total
        self._props["offset"] = offset
        self._props["chosen"] = self.chosen
        self.update()

    def _search(self) -> list[TopicRow]:
        """Looks through all topics, so not at every refresh."""
        asked = (self.wanted, int(time.monotonic() / SEARCH_SECONDS))
        if asked != self._searched:
            self._searched = asked
            self._found = self._model().search(self.wanted)
        return self._found

    def _sent(self) -> tuple[Any, ...]:
        return tuple(self._props.get(name) for name in ("rows", "total", "offset", "chosen"))

    def _shown(self, row: TopicRow) -> dict[str, Any]:
        topic = row.topic
        return {
            "path": row.path,
            "name": row.path if self.wanted else topic.name,
            "depth": row.depth,
            "open": row.is_open,
            "children": 0 if self.wanted else len(topic.children),
            "value": preview(topic.last.payload) if topic.last is not None else "",
            "line": points(topic.numbers) if topic.numbers is not None else "",
            "count": short(topic.count),
        }

    def _moved(self, event: GenericEventArguments) -> None:
        self._first = max(0, int(event.args["first"]))
        self._count = min(max(int(event.args["count"]), FEWEST_ROWS), MOST_ROWS)
        self.refresh()

    def _toggled(self, event: GenericEventArguments) -> None:
        self._opened ^= {str(event.args)}
        self.refresh()

    def _chosen(self, event: GenericEventArguments) -> None:
        self.chosen = str(event.args)
        self._on_choose(self.chosen)
        self.refresh()
