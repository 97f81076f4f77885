"""The processors that come with the broker: what those of `plus/registry.py` do in a worker."""

from collections import Counter

from gossamer.plus.operators.cntfemale import CNTFEMALE
from gossamer.plus.operators.cntmale import CNTMALE
from gossamer.plus.operators.cntppl import CNTPPL
from gossamer.plus.operators.recognize import RECOGNIZE
from gossamer.vision.eyes import Eyes, eyes_of, trouble_with_detector, trouble_with_gender
from gossamer.vision.images import sample
from gossamer.vision.processor import Item, Processor
from gossamer.vision.settings import WorkerSettings


class ImageProcessor(Processor):
    def start(self, settings: WorkerSettings) -> None:
        self.eyes: Eyes = eyes_of(settings)
        # Libraries open files and start threads at their first use, which must be now.
        self.process(Item("", sample(), {}, settings))


class CountPeople(ImageProcessor):
    keyword, description = CNTPPL.keyword, CNTPPL.description

    @classmethod
    def trouble(cls, settings: WorkerSettings) -> str:
        return trouble_with_detector(settings)

    def process(self, item: Item) -> object:
        return self.eyes.people(item)


class CountMale(ImageProcessor):
    keyword, description = CNTMALE.keyword, CNTMALE.description

    @classmethod
    def trouble(cls, settings: WorkerSettings) -> str:
        return trouble_with_gender(settings)

    def process(self, item: Item) -> object:
        return len(self.eyes.faces(item)) - self.eyes.females(item)


class CountFemale(ImageProcessor):
    keyword, description = CNTFEMALE.keyword, CNTFEMALE.description

    @classmethod
    def trouble(cls, settings: WorkerSettings) -> str:
        return trouble_with_gender(settings)

    def process(self, item: Item) -> object:
        return self.eyes.females(item)


class Recognize(ImageProcessor):
    keyword, description = RECOGNIZE.keyword, RECOGNIZE.description
    returns = RECOGNIZE.returns

    @classmethod
    def trouble(cls, settings: WorkerSettings) -> str:
        return trouble_with_detector(settings)

    def process(self, item: Item) -> object:
        return dict(Counter(one.label for one in self.eyes.objects(item)))
