"""MQTT+: subscriptions that filter, aggregate and process before a byte is sent."""
