"""``python -m kinecast`` is the command ``kinecast``."""

from kinecast.cli import main

main()
