"""The properties of MQTT 5.0 as one typed record; absent ones are None (or an empty list)."""

from mypy_extensions import mypyc_attr


@mypyc_attr(acyclic=True)
class Properties:
    """Every property that any packet may carry; `property_table` has which may carry which."""

    __slots__ = (
        "assigned_client_id",
        "authentication_data",
        "authentication_method",
        "content_type",
        "correlation_data",
        "maximum_packet_size",
        "maximum_qos",
        "message_expiry",
        "payload_format",
        "reason_string",
        "receive_maximum",
        "request_problem_information",
        "request_response_information",
        "response_information",
        "response_topic",
        "retain_available",
        "server_keep_alive",
        "server_reference",
        "session_expiry",
        "shared_subscription_available",
        "subscription_ids",
        "subscription_ids_available",
        "topic_alias",
        "topic_alias_maximum",
        "user",
        "wildcard_subscription_available",
        "will_delay",
    )

    def __init__(self) -> None:
        self.payload_format: int | None = None
        self.message_expiry: int | None = None
        self.content_type: str | None = None
        self.response_topic: str | None = None
        self.correlation_data: bytes | None = None
        self.subscription_ids: list[int] = []
        self.session_expiry: int | None = None
        self.assigned_client_id: str | None = None
        self.server_keep_alive: int | None = None
        self.authentication_method: str | None = None
        self.authentication_data: bytes | None = None
        self.request_problem_information: int | None = None
        self.will_delay: int | None = None
        self.request_response_information: int | None = None
        self.response_information: str | None = None
        self.server_reference: str | None = None
        self.reason_string: str | None = None
        self.receive_maximum: int | None = None
        self.topic_alias_maximum: int | None = None
        self.topic_alias: int | None = None
        self.maximum_qos: int | None = None
        self.retain_available: int | None = None
        self.user: list[tuple[str, str]] = []
        self.maximum_packet_size: int | None = None
        self.wildcard_subscription_available: int | None = None
        self.subscription_ids_available: int | None = None
        self.shared_subscription_available: int | None = None
