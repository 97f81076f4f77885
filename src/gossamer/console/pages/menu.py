"""Every page in the order of the menu. The function `build` of its file makes it."""

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Final, cast

from gossamer.console.console import Console


@dataclass(frozen=True)
class MenuPage:
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
    MenuPage("/", "Overview", "monitor_heart", "overview"),
    MenuPage("/topics", "Topics", "account_tree", "topics"),
    MenuPage("/exchange", "Publish and subscribe", "swap_horiz", "exchange"),
    MenuPage("/mesh", "Mesh", "hub", "mesh"),
    MenuPage("/map", "Map", "map", "map"),
    MenuPage("/sessions", "Sessions", "devices", "sessions"),
    MenuPage("/pipelines", "Pipelines", "water", "pipelines"),
    MenuPage("/savings", "Savings", "savings", "savings"),
)
