"""``python -m gossamer`` is the command ``gossamer``."""

from gossamer.cli.main import main

main()
