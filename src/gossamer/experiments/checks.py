"""A claim of a paper, held against what was measured here."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Check:
    """A claim of the paper beside our number, and our explanation where it does not hold here."""

    claim: str
    ours: str
    holds: bool
    because: str = ""

    @property
    def verdict(self) -> str:
        if self.holds:
            return "ok"
        return "DIFFERS" if self.because else "MISSED"
