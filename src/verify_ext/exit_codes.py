"""What the process exits with (docs/design.md, section 6); 128 plus its number after a signal."""

EXIT_ALLOWED = 0
EXIT_REJECTED = 1
EXIT_USAGE = 2
EXIT_NOTHING = 3
EXIT_UNDECIDED = 4
EXIT_BUG = 5
