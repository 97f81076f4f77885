"""A worker process: loads the processors, gives up its rights, then answers one item at a time.

It is told everything on its standard input and answers on its standard output. What libraries print
goes elsewhere. A worker that runs out of memory ends: the broker starts another.
"""

import json
import os
from typing import Any, BinaryIO, Final

from gossamer.plus.publication import PROCESSOR_FAILED
from gossamer.vision.confinement import allow_seconds, begin, confine
from gossamer.vision.images import BadImage, prepare
from gossamer.vision.linux_calls import die_with_parent
from gossamer.vision.processor import Item, Processor
from gossamer.vision.registry import load
from gossamer.vision.settings import WorkerSettings, settings_from_json
from gossamer.vision.worker_protocol import frame, read_frame

OUT_OF_MEMORY: Final = 70  # exit code

# Of what a processor raised, as much as helps.
COMPLAINT_CHARACTERS: Final = 300


def main() -> None:
    die_with_parent()
    requests, answers = _take_streams()
    told = read_frame(requests)
    if told is None:
        return
    settings = settings_from_json(told[0]["settings"])
    begin()
    prepare()
    processors, failed = _start(told[0]["processors"], settings)
    weak = confine(settings.memory)
    _send(answers, {"failed": failed, "weak": weak})
    while (request := read_frame(requests)) is not None:
        message, payload = request
        allow_seconds(settings.seconds)
        item = Item(message["topic"], payload, message["properties"], settings)
        try:
            _send(answers, _answer(processors, message["keywords"], item))
        except MemoryError:
            os._exit(OUT_OF_MEMORY)


def _take_streams() -> tuple[BinaryIO, BinaryIO]:
    """Standard input and output, for us alone."""
    requests, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    return requests, answers


def _start(
    places: dict[str, str], settings: WorkerSettings
) -> tuple[dict[str, Processor], dict[str, str]]:
    """Those that started, and why others did not, by keyword."""
    processors: dict[str, Processor] = {}
    failed: dict[str, str] = {}
    for keyword, place in places.items():
        try:
            processor = load(place)()
            processor.start(settings)
            processors[keyword] = processor
        except Exception as error:
            failed[keyword] = _complaint(error)
    return processors, failed


def _answer(
    processors: dict[str, Processor], keywords: list[str], item: Item
) -> dict[str, dict[str, str]]:
    answers: dict[str, str] = {}
    reasons: dict[str, str] = {}
    complaints: dict[str, str] = {}
    for keyword in keywords:
        processor = processors.get(keyword)
        try:
            found = None if processor is None else processor.process(item)
            if found is not None:
                answers[keyword] = json.dumps(found, separators=(",", ":"), allow_nan=False)
        except MemoryError:
            raise
        except BadImage as error:
            reasons[keyword] = error.reason
        except Exception as error:
            reasons[keyword] = PROCESSOR_FAILED
            complaints[keyword] = _complaint(error)
    return {"answers": answers, "reasons": reasons, "complaints": complaints}


def _complaint(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"[:COMPLAINT_CHARACTERS]


def _send(stream: BinaryIO, message: dict[str, Any]) -> None:
    stream.writelines(frame(message))
    stream.flush()


if __name__ == "__main__":
    main()
