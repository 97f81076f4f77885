"""Why an operator subscription is refused."""


class PlusError(ValueError):
    """The text names the offending operator and its place, fit for a reason string."""
