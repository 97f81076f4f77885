"""Our MQTT client without IO: how it logs in, and its protocol. Sockets are in `net/client.py`."""
