"""Every page in the order of the menu. The function `build` of its file makes it."""

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Final, cast

from gossamer.console.console import Console


@dataclass(frozen=True)
class Page:
    """`module` is in this package; `icon` is of Material Icons, which NiceGUI brings along."""

    path: str
    title: str
    icon: str
    module: str

    @property
    def build(self) -> Callable[[Console], None]:
        module = import_module(f"gossamer.console.pages.{self.module}")
        return cast(Callable[[Console], None], module.build)


PAGES: Final = (
    Page("/", "Overview", "monitor_heart", "overview"),
    Page("/topics", "Topics", "account_tree", "topics"),
    Page("/exchange", "Publish, subscribe", "swap_horiz", "exchange"),
    Page("/mesh", "Mesh", "hub", "mesh"),
    Page("/map", "Map", "map", "map"),
    Page("/sessions", "Sessions", "devices", "sessions"),
    Page("/pipelines", "Pipelines", "water", "pipelines"),
    Page("/savings", "Savings", "savings", "savings"),
)
