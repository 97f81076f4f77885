"""The operators of MQTT+, one file each; `plus/registry.py` lists them all."""
