"""The processors that come with the broker: they look at images, by models that they share."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Final

from gossamer.vision.images import sample
from gossamer.vision.model_catalog import EFFICIENTDET, GENDER, SSD, YUNET
from gossamer.vision.models import INSTALL_HINT, is_installed
from gossamer.vision.processor import Item, Processor
from gossamer.vision.settings import WorkerSettings

if TYPE_CHECKING:
    from gossamer.vision.detections import Detection
    from gossamer.vision.detectors import ObjectDetector
    from gossamer.vision.faces import Face

EXTRA_HINT: Final = "install gossamer with its extra: pip install 'gossamer[vision]'"


def trouble_with_packages() -> str:
    """What is not installed of the packages that all of this needs."""
    missing = [name for name in ("cv2", "numpy") if find_spec(name) is None]
    return f"{' and '.join(missing)} cannot be imported; {EXTRA_HINT}" if missing else ""


def trouble_with_detector(settings: WorkerSettings) -> str:
    """Why there is nothing that finds objects; "" if there is."""
    folder = Path(settings.models)
    if settings.detector is not None or is_installed(SSD, folder) or _has_efficientdet(folder):
        return trouble_with_packages()
    if is_installed(EFFICIENTDET, folder):
        return f"ai-edge-litert cannot be imported; {EXTRA_HINT}"
    return trouble_with_packages() or f"there is no model here that finds people; {INSTALL_HINT}"


def trouble_with_gender(settings: WorkerSettings) -> str:
    """Why the gender of faces cannot be estimated; "" if it can."""
    folder = Path(settings.models)
    if is_installed(YUNET, folder) and is_installed(GENDER, folder):
        return trouble_with_packages()
    return trouble_with_packages() or f"there are no models here for faces; {INSTALL_HINT}"


def _has_efficientdet(folder: Path) -> bool:
    return is_installed(EFFICIENTDET, folder) and find_spec("ai_edge_litert") is not None


class ImageModels:
    """All models of one worker, and what they see together. Loads every one that is here:
    processors that need one which is not are not asked."""

    def __init__(self, settings: WorkerSettings) -> None:
        from gossamer.vision.faces import FaceFinder, GenderGuess

        folder = Path(settings.models)
        self._detector = None if trouble_with_detector(settings) else _detector(settings)
        self._face_finder = FaceFinder(folder) if is_installed(YUNET, folder) else None
        self._gender = None if trouble_with_gender(settings) else GenderGuess(folder)

    def objects(self, item: Item) -> list[Detection]:
        detector = self._detector
        return [] if detector is None else item.once("objects", lambda: detector(item.image()))

    def faces(self, item: Item) -> list[Face]:
        finder = self._face_finder
        return [] if finder is None else item.once("faces", lambda: finder.find(item.image()))

    def people(self, item: Item) -> int:
        """Bodies and faces, nobody counted twice."""
        assert self._detector is not None
        person = self._detector.settings.person
        bodies = [one for one in self.objects(item) if one.label == person]
        return joint_count(bodies, self.faces(item))

    def females(self, item: Item) -> int:
        """Of the visible faces; an estimate."""
        return item.once("females", lambda: self._count_females(item))

    def _count_females(self, item: Item) -> int:
        guess = self._gender
        assert guess is not None
        return sum(guess.is_female(item.image(), face) for face in self.faces(item))


@lru_cache(1)
def image_models(settings: WorkerSettings) -> ImageModels:
    """The same for all processors of a worker."""
    return ImageModels(settings)


def _detector(settings: WorkerSettings) -> ObjectDetector:
    from gossamer.vision.detectors import configured_detector, efficientdet, ssd

    if settings.detector is not None:
        return configured_detector(settings.detector)
    folder = Path(settings.models)
    return efficientdet(folder) if _has_efficientdet(folder) else ssd(folder)


def joint_count(bodies: Sequence[Detection], faces: Sequence[Face]) -> int:
    """Each body claims one face within it; each face that nobody claims is one more person."""
    owners: dict[int, int] = {}  # face → body

    def claims(body: int, tried: set[int]) -> bool:
        """Whether the body gets a face, be it that another's owner moves to another face."""
        for at, face in enumerate(faces):
            if at not in tried and bodies[body].holds(face.x, face.y):
                tried.add(at)
                if at not in owners or claims(owners[at], tried):
                    owners[at] = body
                    return True
        return False

    claimed = sum(claims(body, set()) for body in range(len(bodies)))
    return len(bodies) + len(faces) - claimed


class ImageProcessor(Processor):
    """`needs` says what is missing of what it looks with; "" if nothing is."""

    needs: ClassVar[Callable[[WorkerSettings], str]]

    @classmethod
    def trouble(cls, settings: WorkerSettings) -> str:
        return cls.needs(settings)

    def start(self, settings: WorkerSettings) -> None:
        self.models = image_models(settings)
        # Libraries open files and start threads at their first use, which must be now.
        self.process(Item("", sample(), {}, settings))


class CountPeople(ImageProcessor):
    keyword = "CNTPPL"
    description = "counts people in an image"
    needs = trouble_with_detector

    def process(self, item: Item) -> object:
        return self.models.people(item)


class CountMale(ImageProcessor):
    keyword = "CNTMALE"
    description = "counts males in an image, an estimate from visible faces"
    needs = trouble_with_gender

    def process(self, item: Item) -> object:
        return len(self.models.faces(item)) - self.models.females(item)


class CountFemale(ImageProcessor):
    keyword = "CNTFEMALE"
    description = "counts females in an image, an estimate from visible faces"
    needs = trouble_with_gender

    def process(self, item: Item) -> object:
        return self.models.females(item)


class Recognize(ImageProcessor):
    keyword = "RECOGNIZE"
    description = "recognizes objects in an image: how many there are of each kind"
    returns = "json"
    needs = trouble_with_detector

    def process(self, item: Item) -> object:
        return dict(Counter(one.label for one in self.models.objects(item)))
