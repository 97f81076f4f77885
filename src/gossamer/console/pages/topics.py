"""Topics: the tree of all that was seen, and the live messages of the one that is chosen."""

from nicegui import ui

from gossamer.console.console import Console
from gossamer.console.pages.frame import REFRESH_SECONDS
from gossamer.console.parts.broker_choice import BrokerChoice
from gossamer.console.parts.figures import short
from gossamer.console.parts.messages import MessageList
from gossamer.console.parts.panels import columns
from gossamer.console.parts.topic_tree import TopicTree
from gossamer.console.topic_model import Topic, TopicModel
from gossamer.console.watcher import EVERYTHING, Watcher
from gossamer.topics.names import TopicError, check_filter


def build(console: Console) -> None:
    _TopicsPage(console)


class _TopicsPage:
    def __init__(self, console: Console) -> None:
        self._followed: Topic | None = None
        self._model: TopicModel | None = None
        with ui.row().classes("w-full items-center gap-3"):
            self._choice = BrokerChoice(console, self._changed)
            self._search = ui.input(placeholder="Search topics", on_change=self._searched)
            self._search.props('dense outlined clearable debounce=200 aria-label="Search topics"')
            self._search.classes("grow max-w-md")
            self._filter = ui.input("Watch", value=self._watcher.filter)
            self._filter.props('dense outlined aria-label="Watch"').classes("w-40")
            self._filter.on("keydown.enter", self._watch).on("blur", self._watch)
            self._filter.tooltip(
                "The topic filter watched on this broker. In a mesh, # pulls every message to it."
            )
            self._status = ui.label().classes("text-sm quiet").props("role=status")
        self._watcher.look()
        with columns("24rem"):
            with ui.element("section").classes("panel p-2 min-w-0"):
                self._tree = TopicTree(lambda: self._watcher.model, self._follow)
            with ui.element("section").classes("panel p-4 min-w-0"):
                self._list = MessageList()
        ui.timer(REFRESH_SECONDS, self._refresh)
        ui.context.client.on_delete(self._unfollow)

    @property
    def _watcher(self) -> Watcher:
        return self._choice.watcher

    def _refresh(self) -> None:
        watcher = self._watcher
        watcher.look()
        model = watcher.model
        left_out = f", {short(model.left_out)} on topics beyond the limit" if model.left_out else ""
        text = f"{model.topics:,} topics, {watcher.messages:,} messages seen{left_out}"
        self._status.set_text(
            f"{self._choice.name}: {watcher.trouble}" if watcher.trouble else text
        )
        self._tree.refresh()
        if self._followed is not None:
            self._list.show(self._followed)

    def _changed(self) -> None:
        self._filter.value = self._watcher.filter
        self._unfollow()
        self._list.clear()
        self._refresh()

    async def _watch(self) -> None:
        filter = (self._filter.value or EVERYTHING).strip()
        if filter == self._watcher.filter:
            return
        try:
            check_filter(filter)
        except TopicError as error:
            ui.notify(str(error), type="negative")
            return
        await self._watcher.watch(filter)
        self._changed()

    def _searched(self) -> None:
        self._tree.wanted = self._search.value or ""
        self._tree.refresh()

    def _follow(self, path: str) -> None:
        self._unfollow()
        self._model = self._watcher.model
        self._followed = self._model.find(path)
        if self._followed is not None:
            self._model.follow(self._followed)
            self._list.show(self._followed)

    def _unfollow(self) -> None:
        if self._followed is not None and self._model is not None:
            self._model.unfollow(self._followed)
        self._followed = None
