"""Exit codes, as the documentation's table has them."""

EXIT_DONE = 0
EXIT_FAIL = 1
EXIT_USAGE = 2
EXIT_INCONCLUSIVE = 3
EXIT_INVALID = 4
EXIT_INFRASTRUCTURE = 5
