"""CONNACK: what we tell a client about its session and about ourselves."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from gossamer.budget.ledger import Account
from gossamer.session.aliases import TopicAliases
from gossamer.session.session import Session
from gossamer.wire import reasons
from gossamer.wire.packets import V5, Connack, Connect
from gossamer.wire.properties import Properties

if TYPE_CHECKING:
    from gossamer.broker.connection import Connection

# What a Receive Maximum is if nobody names one.
DEFAULT_RECEIVE_MAXIMUM: Final = 65_535
# A limit of this much leaves the keep-alive to the client.
ANY_KEEP_ALIVE: Final = 0xFFFF


def agreed_keep_alive(connect: Connect, maximum: int) -> int:
    """The client's keep-alive in seconds, or ours where 5.0 lets us name one [MQTT-3.2.2-22]."""
    asked = connect.keep_alive
    if connect.version != V5 or maximum in (0, ANY_KEEP_ALIVE):
        return asked
    return maximum if asked == 0 or asked > maximum else asked


def welcome(
    connection: Connection, connect: Connect, expiry: int, assigned: str, final_data: bytes
) -> Connack:
    """An accepting CONNACK; whether a session is present is not known yet."""
    answer = Connack(False, reasons.SUCCESS)
    if connect.version != V5:
        return answer
    settings = connection.settings
    properties = Properties()
    answer.properties = properties
    receive_maximum = DEFAULT_RECEIVE_MAXIMUM if connection.is_peer else settings.receive_maximum
    if receive_maximum != DEFAULT_RECEIVE_MAXIMUM:
        properties.receive_maximum = receive_maximum
    properties.maximum_packet_size = settings.max_packet
    properties.topic_alias_maximum = settings.max_topic_alias
    if assigned:
        properties.assigned_client_id = assigned  # [MQTT-3.1.3-7], [MQTT-3.2.2-16]
    keep_alive = agreed_keep_alive(connect, settings.max_keep_alive)
    if keep_alive != connect.keep_alive:
        properties.server_keep_alive = keep_alive  # [MQTT-3.1.2-21]
    asked = connect.properties
    if asked is None:
        return answer
    if asked.session_expiry is not None and asked.session_expiry != expiry:
        properties.session_expiry = expiry
    if asked.request_response_information and settings.response_information:
        properties.response_information = settings.response_information  # [MQTT-3.1.2-28]
    if asked.authentication_method is not None:
        # [MQTT-4.12.0-5]; none otherwise: [MQTT-4.12.0-6]
        properties.authentication_method = asked.authentication_method
        if final_data:
            properties.authentication_data = final_data
    return answer


def set_windows(session: Session, connect: Connect, max_inflight: int, aliases: Account) -> None:
    """How much may be on its way to the client at once, and which aliases it takes."""
    properties = connect.properties
    # [MQTT-3.3.2-7]: the aliases of an earlier connection are forgotten.
    session.drop_aliases()
    session.window = max_inflight
    if properties is None:
        return
    if properties.receive_maximum is not None:
        # [MQTT-3.3.4-9], [MQTT-4.9.0-1]: never more in flight than the client allows.
        session.window = min(properties.receive_maximum, max_inflight)
    if properties.topic_alias_maximum:
        # [MQTT-3.1.2-26]; without it none are sent: [MQTT-3.1.2-27]
        session.aliases = TopicAliases(properties.topic_alias_maximum, aliases, session.owner)
