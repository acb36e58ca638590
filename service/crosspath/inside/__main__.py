"""``python3 -IS DIRECTORY``: the packages beside this one, and nothing else, can be imported."""

import sys

if __name__ == "__main__":
    sys.path[0] = sys.path[0].rpartition("/")[0]
    from inside.running import main  # pyright: ignore

    sys.exit(main())
