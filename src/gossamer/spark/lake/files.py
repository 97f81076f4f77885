"""Folders of a lake, wherever Spark can keep files: listed, moved and removed through Hadoop."""

from typing import Any

from pyspark.sql import SparkSession


class Files:
    """Paths are texts, with or without a scheme; `/` lies between their parts."""

    def __init__(self, spark: SparkSession, root: str) -> None:
        gateway: Any = spark.sparkContext._jvm
        settings = spark.sparkContext._jsc.hadoopConfiguration()
        self._path = gateway.org.apache.hadoop.fs.Path
        self._system: Any = self._path(root).getFileSystem(settings)

    def exists(self, path: str) -> bool:
        return bool(self._system.exists(self._path(path)))

    def folders(self, path: str) -> list[str]:
        """The names of the folders there, in order; none if there is no such path."""
        return sorted(status.getPath().getName() for status in self._list(path, wants_files=False))

    def files(self, path: str) -> int:
        """How many data files are right there."""
        listed = self._list(path, wants_files=True)
        return sum(not status.getPath().getName().startswith(("_", ".")) for status in listed)

    def move(self, path: str, target: str) -> None:
        """In one step, where the file system has one. The target's parent is made."""
        self._system.mkdirs(self._path(target).getParent())
        if not self._system.rename(self._path(path), self._path(target)):
            raise OSError(f"cannot move {path} to {target}")

    def make(self, path: str) -> None:
        """A folder; harmless if it is there."""
        self._system.mkdirs(self._path(path))

    def write_text(self, path: str, text: str) -> None:
        """In place of what was there."""
        out = self._system.create(self._path(path), True)
        try:
            out.write(bytearray(text, "utf-8"))
        finally:
            out.close()

    def read_text(self, path: str) -> str | None:
        """None if there is no such file."""
        if not self.exists(path):
            return None
        source = self._system.open(self._path(path))
        try:
            return bytes(source.readAllBytes()).decode()
        finally:
            source.close()

    def remove(self, path: str) -> None:
        self._system.delete(self._path(path), True)

    def _list(self, path: str, wants_files: bool) -> list[Any]:
        if not self.exists(path):
            return []
        found = self._system.listStatus(self._path(path))
        return [status for status in found if bool(status.isFile()) == wants_files]


def joined(*parts: str) -> str:
    return "/".join(part.rstrip("/") for part in parts)
