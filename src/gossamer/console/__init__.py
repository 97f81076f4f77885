"""The web page: what the brokers do, for a person, in a process of its own.

It asks the brokers' admin API and subscribes as any client does, at QoS 0 and with bounded memory,
so that a page or a console that stands still slows no broker.
"""
