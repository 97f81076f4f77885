"""What runs beside a broker that archives: the upkeep of the archive, and the replay service."""

from gossamer.broker.broker import Broker
from gossamer.net.archiving import begin_archiving
from gossamer.net.auth.assembly import REPLAY
from gossamer.net.auth.logins import Logins
from gossamer.net.material import Material
from gossamer.net.replay import ReplayService
from gossamer.storage.archive.archive import Archive
from gossamer.storage.archive.keeping import Keeper


class ArchiveService:
    """Starts with the listeners; OSError if the replay service cannot listen."""

    def __init__(
        self, archive: Archive, broker: Broker, logins: Logins, material: Material
    ) -> None:
        section = material.config.archive
        assert section is not None
        begin_archiving(broker, section)
        self.archive = archive
        self.replay: ReplayService | None = None
        if section.replay:
            context = material.contexts.get(REPLAY)
            try:
                self.replay = ReplayService(archive, broker, logins, section, context)
            except OSError as error:
                where = f"{section.replay_host}:{section.replay_port}"
                why = error.strerror or str(error)
                raise OSError(f"the replay service cannot listen on {where}: {why}") from error
        self.keeper = Keeper(archive)
        self.keeper.start()

    def stop(self) -> None:
        if self.replay is not None:
            self.replay.stop()
        self.keeper.stop()
