"""paho-mqtt for tests: calls that wait for the broker's answer, messages in a queue."""

import queue
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import paho.mqtt.client as paho
from paho.mqtt.enums import CallbackAPIVersion, MQTTProtocolVersion
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties
from paho.mqtt.subscribeoptions import SubscribeOptions

from tests.support.polling import PATIENCE

V311 = MQTTProtocolVersion.MQTTv311
V5 = MQTTProtocolVersion.MQTTv5
VERSIONS = [V311, V5]


def paho_properties(packet: int, **values: object) -> Properties:
    """For example `paho_properties(PacketTypes.PUBLISH, TopicAlias=3)`."""
    properties = Properties(packet)
    for name, value in values.items():
        setattr(properties, name, value)
    return properties


class Paho:
    """One client; `session_present` and `connack` tell what the broker said last."""

    def __init__(
        self,
        port: int,
        client_id: str = "",
        version: MQTTProtocolVersion = V5,
        clean: bool = True,
        expiry: int = 0,
        will: tuple[str, bytes, int, bool] | None = None,
        **connect_properties: object,
    ) -> None:
        self._port = port
        self._version = version
        self._clean = clean
        if expiry:
            connect_properties["SessionExpiryInterval"] = expiry
        self._connect_properties = connect_properties
        self.messages: queue.Queue[paho.MQTTMessage] = queue.Queue()
        self._answers: queue.Queue[tuple[str, Any]] = queue.Queue()
        self.session_present = False
        self.connack: Any = None  # the properties of the CONNACK
        extra: dict[str, Any] = {"clean_session": clean} if version == V311 else {}
        self.client = paho.Client(
            CallbackAPIVersion.VERSION2,
            client_id,
            protocol=version,
            reconnect_on_failure=False,
            **extra,
        )
        self.client.on_connect = self._on_connect
        self.client.on_message = lambda _client, _data, message: self.messages.put(message)
        self.client.on_subscribe = lambda *args: self._answers.put(("subscribed", args[3]))
        self.client.on_unsubscribe = lambda *args: self._answers.put(("unsubscribed", args[3]))
        self.client.on_disconnect = lambda *args: self._answers.put(("disconnected", args[3]))
        if will is not None:
            self.client.will_set(*will)

    def connect(self) -> None:
        """Until the broker has answered."""
        if self._version == V5:
            properties = paho_properties(PacketTypes.CONNECT, **self._connect_properties)
            self.client.connect(
                "127.0.0.1", self._port, clean_start=self._clean, properties=properties
            )
        else:
            self.client.connect("127.0.0.1", self._port)
        self.client.loop_start()
        self.wait_for("connected")

    def _on_connect(self, _client: object, _data: object, flags: Any, *rest: Any) -> None:
        self.session_present = flags.session_present
        self.connack = rest[-1]
        self._answers.put(("connected", rest))

    def wait_for(self, what: str) -> Any:
        while True:
            name, value = self._answers.get(timeout=PATIENCE)
            if name == what:
                return value

    def subscribe(self, filter: str, qos: int = 0, **options: Any) -> list[int]:
        """The reason codes as numbers."""
        identifier = options.pop("identifier", None)
        if self._version == V5:
            wanted = SubscribeOptions(qos, **options)
            properties = None
            if identifier is not None:
                properties = paho_properties(
                    PacketTypes.SUBSCRIBE, SubscriptionIdentifier=identifier
                )
            self.client.subscribe(filter, options=wanted, properties=properties)
        else:
            self.client.subscribe(filter, qos)
        return [code.value for code in self.wait_for("subscribed")]

    def unsubscribe(self, filter: str) -> list[int]:
        self.client.unsubscribe(filter)
        return [code.value for code in self.wait_for("unsubscribed")]

    def publish(
        self, topic: str, payload: bytes, qos: int = 0, retain: bool = False, **values: object
    ) -> None:
        """Until it is sent, or acknowledged at QoS 1 and 2."""
        properties = paho_properties(PacketTypes.PUBLISH, **values) if values else None
        sent = self.client.publish(topic, payload, qos, retain, properties)
        sent.wait_for_publish(PATIENCE)
        assert sent.is_published()

    def take(self, count: int) -> list[paho.MQTTMessage]:
        """The next so many messages."""
        return [self.messages.get(timeout=PATIENCE) for _ in range(count)]

    def close(self) -> None:
        self.client.disconnect()
        self.client.loop_stop()

    def crash(self) -> None:
        """The socket closes without a DISCONNECT."""
        sock: Any = self.client.socket()
        assert sock is not None
        sock.shutdown(socket.SHUT_RDWR)
        self.client.loop_stop()


@contextmanager
def connected(
    port: int, client_id: str = "", version: MQTTProtocolVersion = V5, **rest: Any
) -> Iterator[Paho]:
    client = Paho(port, client_id, version, **rest)
    client.connect()
    try:
        yield client
    finally:
        client.close()
