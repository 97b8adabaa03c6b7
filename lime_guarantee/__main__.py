"""``python -m lime_guarantee`` is the command ``lime-guarantee``."""

import sys

from lime_guarantee.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
