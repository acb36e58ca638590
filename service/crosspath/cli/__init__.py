"""The command line: parses arguments, calls the application, prints. Nothing heavy is imported before a command needs it."""

from crosspath.cli.entry import main

__all__ = ["main"]
