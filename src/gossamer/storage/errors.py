"""What can be wrong with a store; every text names the file and says what to do."""

from pathlib import Path


class StoreError(Exception):
    """The store cannot be used; the text is for the operator."""


class StoreDamaged(StoreError):
    """The file does not hold what was written into it."""

    def __init__(self, path: Path, problems: list[str]) -> None:
        self.path = path
        self.problems = problems
        more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
        super().__init__(
            f"the store {path} is damaged: {problems[0]}{more}; check it with `gossamer store "
            "check`, "
            f"repair it with `gossamer store repair`, save what can be read with "
            f"`gossamer store export` (each with --data {path.parent})"
        )


class StoreInUse(StoreError):
    """Another process holds the file."""

    def __init__(self, path: Path) -> None:
        super().__init__(
            f"the store {path} is in use by another process: stop it, "
            f"or give this one its own folder with --data"
        )


class StoreTooNew(StoreError):
    """Written by a later version; reading it with this one could lose state."""

    def __init__(self, path: Path, found: int, known: int) -> None:
        super().__init__(
            f"the store {path} has format {found} and this version knows {known}; it is left as it "
            f"is: use a newer gossamer, restore what was saved before the upgrade, or name another "
            f"folder with --data"
        )


class ValuesTooNew(StoreError):
    """What a later version saved inside of a store whose format is known."""

    def __init__(self, path: Path, what: str, found: int, known: int) -> None:
        super().__init__(
            f"the store {path} has {what} of version {found} and this version knows {known}; it is "
            f"left as it is: use a newer gossamer, or restore what was saved before the upgrade"
        )


class StoreNotUpgraded(StoreError):
    """Of an earlier format, and the disk did not take what the present one needs."""

    def __init__(self, path: Path, why: str) -> None:
        super().__init__(
            f"the store {path} is of an earlier version and could not be upgraded to this one "
            f"({why}): it is unchanged; free disk space and start again"
        )


class NotAStore(StoreError):
    """An SQLite file, but of another program."""

    def __init__(self, path: Path) -> None:
        super().__init__(f"{path} is not a gossamer store: choose another folder with --data")


class NoStore(StoreError):
    """Nothing there to look at."""

    def __init__(self, path: Path) -> None:
        super().__init__(f"there is no store at {path}: name its folder with --data")
