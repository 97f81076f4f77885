"""What a wrong configuration raises: every problem at once, one line each."""


class ConfigError(Exception):
    """`problems` are lines for a person, each naming the key, the value and what is allowed."""

    def __init__(self, problems: list[str]) -> None:
        super().__init__("\n".join(problems))
        self.problems = problems
