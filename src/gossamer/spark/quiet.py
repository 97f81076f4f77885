"""What Spark says on the terminal of its driver: errors, and not how it set itself up."""

from pathlib import Path
from typing import Final

# The gateway is taken for a shell, which would set and announce a level of its own.
_SETTINGS: Final = """\
rootLogger.level = error
rootLogger.appenderRef.stderr.ref = stderr
logger.gateway.name = org.apache.spark.api.python.PythonGatewayServer
logger.gateway.level = error
appender.stderr.type = Console
appender.stderr.name = stderr
appender.stderr.target = SYSTEM_ERR
appender.stderr.layout.type = PatternLayout
appender.stderr.layout.pattern = %d{yyyy-MM-dd'T'HH:mm:ss} %p %c{1}: %m%n%ex
"""


def quiet_java(folder: Path) -> str:
    """The option of Java that does it; the file that it names is put into `folder`."""
    file = folder / "log4j2.properties"
    folder.mkdir(parents=True, exist_ok=True)
    if not file.exists() or file.read_text() != _SETTINGS:
        file.write_text(_SETTINGS)
    return f"-Dlog4j2.configurationFile={file}"
