"""The guide to operations names every `$SYS` topic, request and metric; no link is dead."""

import re
from pathlib import Path

import pytest

from gossamer.broker.broker import Broker
from gossamer.broker.settings import Settings
from gossamer.broker.sys_topics import statistics
from gossamer.net.admin.metrics import (
    BRIDGE_GAUGES,
    BRIDGE_TOTALS,
    CHOICE_GAUGES,
    GAUGES,
    LINK_GAUGES,
    LINK_TOTALS,
    ROOM_GAUGES,
    ROOM_TOTALS,
    TOTALS,
)
from gossamer.net.admin.server import AdminServer
from gossamer.net.config.root import Admin
from gossamer.session.journal import Journal

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
OPERATIONS = (ROOT / "docs" / "operations.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("page", PAGES, ids=[page.name for page in PAGES])
def test_links_lead_somewhere(page: Path) -> None:
    targets = re.findall(r"\]\(([^)#]+)[^)]*\)", page.read_text(encoding="utf-8"))
    for target in targets:
        if "://" not in target:
            assert (page.parent / target).exists(), target


async def no_reload() -> list[str]:
    return []


def test_the_guide_names_every_topic_request_and_metric() -> None:
    broker = Broker(Settings(), Journal(), 0.0)
    for topic in statistics(broker.core, 0.0):
        assert f"`$SYS/broker/{topic}`" in OPERATIONS
    for route in AdminServer(broker, Admin(), "token", no_reload).routes:
        assert f"`{route.method} {route.path}`" in OPERATIONS
    for name in (f"{name}_total" for _, name, _ in TOTALS):
        assert f"`{name}`" in OPERATIONS
    for name in (name for _, name, _ in GAUGES):
        assert f"`{name}`" in OPERATIONS
    for name, _, _ in ROOM_TOTALS:
        assert f"`{name}_total`" in OPERATIONS
    for name, _, _ in ROOM_GAUGES:
        assert f"`{name}`" in OPERATIONS
    for name in (f"link_{name}" for name, _ in LINK_GAUGES):
        assert f"`{name}`" in OPERATIONS
    for name in (f"auto_{name}" for name, _ in CHOICE_GAUGES):
        assert f"`{name}`" in OPERATIONS
    for name in (f"stock_{name}" for name, _ in BRIDGE_GAUGES):
        assert f"`{name}`" in OPERATIONS
    totals = [f"link_{name}" for name, _ in LINK_TOTALS]
    for name in totals + [f"stock_{name}" for name, _ in BRIDGE_TOTALS]:
        both = re.sub("received|sent", "…", name)
        assert f"`{both}_total`" in OPERATIONS
