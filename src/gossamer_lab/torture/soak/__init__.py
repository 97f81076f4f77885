"""A mesh under everything at once, for long: it keeps its promises and stays level."""
