"""Bytes to packets and back: framing, the property table as data, codecs for 3.1.1 and 5.0."""
