"""What keeps rows from being published."""


class SinkError(Exception):
    """They cannot be; the text says where and why."""


class Broken(OSError):
    """The connection was lost on the way: worth another try."""
