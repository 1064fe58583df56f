"""`python -m verify_ext` is the installed `verify-ext`."""

from verify_ext.cli import main

if __name__ == "__main__":
    main()
