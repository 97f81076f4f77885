"""What each setting of mosquitto.conf becomes: tables, so that nothing is dropped unseen."""

from typing import Final

# Settings that belong to the listener named before them.
LISTENER_KEYS: Final = frozenset(
    {
        "bind_address",
        "bind_interface",
        "cafile",
        "capath",
        "certfile",
        "ciphers",
        "ciphers_tls1.3",
        "crlfile",
        "dhparamfile",
        "enable_proxy_protocol",
        "http_dir",
        "keyfile",
        "max_connections",
        "max_qos",
        "max_topic_alias",
        "mount_point",
        "port",
        "protocol",
        "psk_hint",
        "require_certificate",
        "socket_domain",
        "tls_engine",
        "tls_engine_kpass_sha1",
        "tls_keyform",
        "tls_version",
        "use_identity_as_username",
        "use_subject_as_username",
        "use_username_as_clientid",
        "websockets_headers_size",
        "websockets_origin",
    }
)

# Numbers that are numbers of ours: mosquitto's key, our section and key.
NUMBERS: Final = {
    "max_inflight_messages": ("limits", "inflight"),
    "max_queued_messages": ("limits", "queue_messages"),
    "max_queued_bytes": ("limits", "queue_bytes"),
    "max_packet_size": ("limits", "packet_size"),
    "message_size_limit": ("limits", "packet_size"),
    "max_keepalive": ("limits", "keep_alive"),
    "sys_interval": ("sys", "interval"),
    "global_max_connections": ("limits", "connections"),
    "global_max_clients": ("limits", "sessions"),
}

# Not needed: with the reason that is told.
NEEDLESS: Final = {
    "autosave_interval": "what is acknowledged is on disk already",
    "autosave_on_changes": "what is acknowledged is on disk already",
    "persistence_file": "the store names its own files",
    "set_tcp_nodelay": "always on",
    "log_timestamp": "every line has its time, in UTC",
    "log_timestamp_format": "ISO 8601, in UTC",
    "connection_messages": "see [log] level",
    "websockets_log_level": "see [log] level",
    "websockets_headers_size": "headers are bounded",
    "pid_file": "systemd or the container knows it",
    "user": "systemd or the container chooses the user",
    "upgrade_outgoing_qos": "off, as the standard has it",
    "allow_duplicate_messages": "overlapping subscriptions bring one copy",
    "retry_interval": "the standard repeats at reconnect only",
    "dhparamfile": "forward-secret ciphers are the default",
    "memory_limit": "every queue has a limit of its own",
    "check_retain_source": "always: a message whose publisher lost the right is not shown",
    "max_topic_alias": "see limits.topic_aliases",
    "log_type": "see [log] level",
    "tls_keyform": "keys are PEM files",
}

# No counterpart: with the way out.
MISSING: Final = {
    "auth_plugin": "write an authenticator (docs/security.md)",
    "plugin": "write an authenticator (docs/security.md)",
    "plugin_load": "write an authenticator (docs/security.md)",
    "bind_interface": "name the interface's address in listener.host",
    "capath": "put the authorities into one PEM file and name it in client_ca",
    "clientid_prefixes": 'auth.client_ids = ["PREFIX*"]',
    "auto_id_prefix": "the broker's own ids are random",
    "http_dir": "serve files with a web server",
    "max_qos": "every QoS is offered",
    "mount_point": "rules with %u or %c keep clients apart; clients must use the whole topic",
    "psk_file": "use certificates or SCRAM",
    "psk_hint": "use certificates or SCRAM",
    "queue_qos0_messages": "QoS 0 is not queued for clients that are away",
    "retain_available": "deny publishing retained messages by a rule, or limits.retained_messages",
    "ciphers_tls1.3": "OpenSSL's choice for TLS 1.3 is used",
    "tls_engine": "keys are PEM files",
    "tls_engine_kpass_sha1": "keys are PEM files",
    "use_subject_as_username": "the common name is the user name",
    "use_username_as_clientid": 'auth.client_ids = ["%u"] lets users have no other id',
    "log_dest": "the log goes to the standard error stream: redirect it",
    "log_facility": "the log goes to the standard error stream: redirect it",
    "allow_zero_length_clientid": "a client without an id is given one",
    "enable_control_api": "use the admin API (docs/operations.md)",
}

# Differences that hold whatever the file says.
ADVICE: Final = (
    "A subscription must lie whole within what the rules allow; mosquitto lets wider ones stand "
    "and filters.",
    "Clients that are away keep their session for the expiry they ask for, at most "
    "limits.session_expiry (30 days).",
    "Retained messages and sessions of mosquitto.db are not taken over: let clients connect to "
    "the new broker, or bridge both for a while.",
)
