"""mosquitto_pub and mosquitto_sub, as people type them."""

import shutil
import subprocess

import pytest

from tests.support.polling import PATIENCE

# Into a pipe mosquitto_sub writes by the block; stdbuf makes it write each line at once.
NEEDED = ("mosquitto_pub", "mosquitto_sub", "stdbuf")

pytestmark = pytest.mark.skipif(
    not all(shutil.which(program) for program in NEEDED), reason=f"needs {', '.join(NEEDED)}"
)


def publish(port: int, *arguments: str) -> None:
    subprocess.run(
        ["mosquitto_pub", "-h", "127.0.0.1", "-p", str(port), *arguments],
        check=True,
        timeout=PATIENCE,
    )


def subscribe(port: int, *arguments: str) -> subprocess.Popen[str]:
    """Returns once the broker has answered the SUBSCRIBE."""
    process = subprocess.Popen(
        ["stdbuf", "-oL", "mosquitto_sub", "-h", "127.0.0.1", "-p", str(port), "-d", *arguments],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    for line in process.stdout:
        if line.startswith("Subscribed"):
            return process
    raise AssertionError("no SUBACK came")


def lines(process: subprocess.Popen[str]) -> list[str]:
    """What it printed of messages, once it has ended by itself."""
    assert process.stdout is not None
    with process.stdout as output:
        shown = [line[1:].rstrip("\n") for line in output if line.startswith(">")]
    assert process.wait(PATIENCE) == 0
    return shown


@pytest.mark.parametrize("version", ["mqttv31", "mqttv311", "mqttv5"])
@pytest.mark.parametrize("qos", ["0", "1", "2"])
def test_publish_and_subscribe(port: int, version: str, qos: str) -> None:
    topic = f"mosq/{version}/{qos}"
    shown = ["-F", ">%t %q %p", "-C", "1", "-V", version]
    reader = subscribe(port, "-t", f"mosq/{version}/{qos}/#", "-q", "2", *shown)
    publish(port, "-t", f"{topic}/a", "-q", qos, "-m", "hello", "-V", version)
    assert lines(reader) == [f"{topic}/a {qos} hello"]


def test_retained_and_user_properties(port: int) -> None:
    arguments = ["-D", "publish", "user-property", "colour", "blue", "-V", "mqttv5"]
    publish(port, "-t", "mosq/kept", "-q", "1", "-r", "-m", "kept", *arguments)
    shown = ["-F", ">%r %p %P", "-C", "1", "-V", "mqttv5"]
    assert lines(subscribe(port, "-t", "mosq/kept", *shown)) == ["1 kept colour:blue"]


def test_many_lines_in_order(port: int) -> None:
    shown = ["-F", ">%p", "-C", "500"]
    reader = subscribe(port, "-t", "mosq/lines", "-q", "1", *shown)
    text = "".join(f"{number}\n" for number in range(500))
    subprocess.run(
        ["mosquitto_pub", "-p", str(port), "-t", "mosq/lines", "-q", "1", "-l"],
        input=text,
        text=True,
        check=True,
        timeout=PATIENCE,
    )
    assert lines(reader) == [str(number) for number in range(500)]
