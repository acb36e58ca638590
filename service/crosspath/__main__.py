"""``python -m crosspath``: the command line."""

from crosspath.cli import main

if __name__ == "__main__":
    main()
