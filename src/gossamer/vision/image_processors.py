"""The processors that come with the broker: they look at images."""

from collections import Counter

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
    keyword = "CNTPPL"
    description = "counts people in an image"

    @classmethod
    def trouble(cls, settings: WorkerSettings) -> str:
        return trouble_with_detector(settings)

    def process(self, item: Item) -> object:
        return self.eyes.people(item)


class CountMale(ImageProcessor):
    keyword = "CNTMALE"
    description = "counts males in an image, an estimate from visible faces"

    @classmethod
    def trouble(cls, settings: WorkerSettings) -> str:
        return trouble_with_gender(settings)

    def process(self, item: Item) -> object:
        return len(self.eyes.faces(item)) - self.eyes.females(item)


class CountFemale(ImageProcessor):
    keyword = "CNTFEMALE"
    description = "counts females in an image, an estimate from visible faces"

    @classmethod
    def trouble(cls, settings: WorkerSettings) -> str:
        return trouble_with_gender(settings)

    def process(self, item: Item) -> object:
        return self.eyes.females(item)


class Recognize(ImageProcessor):
    keyword = "RECOGNIZE"
    description = "recognizes objects in an image: how many there are of each kind"
    returns = "json"

    @classmethod
    def trouble(cls, settings: WorkerSettings) -> str:
        return trouble_with_detector(settings)

    def process(self, item: Item) -> object:
        return dict(Counter(one.label for one in self.eyes.objects(item)))
