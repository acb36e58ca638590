"""Exit codes, as the documentation's table has them."""

EXIT_DONE = 0
EXIT_FAIL = 1
EXIT_USAGE = 2
EXIT_INCONCLUSIVE = 3
EXIT_INVALID = 4
EXIT_INFRASTRUCTURE = 5
EXIT_INTERRUPTED = 130
"""Ctrl-C: 128 + SIGINT."""
EXIT_OUTPUT_CLOSED = 141
"""Whoever read our output stopped reading (``| head``): 128 + SIGPIPE."""
