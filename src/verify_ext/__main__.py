"""`python -m verify_ext` is the installed `verify-ext`."""

import os
import sys

# `-m` puts the current folder first: a checkout's own yaml.py would run in here.
sys.path[:] = [place for place in sys.path if place and os.path.realpath(place) != os.path.realpath(".")]

from verify_ext.cli import main  # noqa: E402 - only now is it safe to import

if __name__ == "__main__":
    main()
