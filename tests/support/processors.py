"""Processors that misbehave, and some that tell on their worker; loaded in worker processes."""

import ctypes
import os
import socket
import subprocess
import threading
import time

from gossamer.vision.processor import Item, Processor
from gossamer.vision.settings import WorkerSettings

HERE = "tests.support.processors"


class Size(Processor):
    keyword = "SIZE"
    description = "width and height of an image"
    returns = "json"

    def process(self, item: Item) -> object:
        height, width = item.image().shape[:2]
        return [width, height]


class Count(Processor):
    """How often this worker was asked, and how often the image was decoded since."""

    keyword = "COUNT1"
    description = "counts what it is asked"
    returns = "json"

    def start(self, settings: WorkerSettings) -> None:
        self.asked = 0

    def process(self, item: Item) -> object:
        self.asked += 1
        return {"pid": os.getpid(), "asked": self.asked}


class CountAgain(Count):
    keyword = "COUNT2"

    def process(self, item: Item) -> object:
        return item.once("counted", lambda: super(CountAgain, self).process(item))


class CountShared(CountAgain):
    keyword = "COUNT3"


class Echo(Processor):
    keyword = "ECHO"
    description = "what it is given"
    returns = "json"

    def process(self, item: Item) -> object:
        return [item.topic, item.payload.decode(), item.properties]


def _segfault() -> object:
    ctypes.string_at(0)
    return None


def _spin() -> object:
    while True:
        pass


def _sleep() -> object:
    time.sleep(600)
    return None


def _hog() -> object:
    return len(bytearray(4 << 30))


def _refused(act: object) -> object:
    """What the system says of it."""
    try:
        act()  # type: ignore[operator]
    except OSError as error:
        return f"refused {error.errno}"
    return "allowed"


def _thread() -> object:
    answers: list[int] = []
    thread = threading.Thread(target=lambda: answers.append(1))
    thread.start()
    thread.join()
    return answers


ACTS = {
    "fine": lambda: 1,
    "segfault": _segfault,
    "exit": lambda: os._exit(3),
    "spin": _spin,
    "sleep": _sleep,
    "hog": _hog,
    "raise": lambda: 1 / 0,
    "nothing": lambda: None,
    "nan": lambda: float("nan"),
    "unknown": lambda: object(),
    "long": lambda: "x" * (2 << 20),
    "print": lambda: print("noise") or 2,
    "thread": _thread,
    "open": lambda: _refused(lambda: open("/etc/hostname")),  # noqa: SIM115
    "socket": lambda: _refused(socket.socket),
    "fork": lambda: _refused(os.fork),
    "program": lambda: _refused(lambda: subprocess.run(["true"], check=False)),
}


class Act(Processor):
    """Does what the payload says."""

    keyword = "ACT"
    description = "does as it is told"
    returns = "json"

    def process(self, item: Item) -> object:
        return ACTS[item.payload.decode()]()


class NeverStarts(Processor):
    keyword = "NEVER"
    description = "cannot start"

    def start(self, settings: WorkerSettings) -> None:
        raise RuntimeError("no such model")


PLACES = {
    one.keyword: f"{HERE}:{one.__name__}"
    for one in (Size, Count, CountAgain, CountShared, Echo, Act, NeverStarts)
}
