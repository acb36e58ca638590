"""Failing tasks, each as the shortest story: instruction, reply, what the path made of it, how it ended, what differs."""

from crosspath.types import Facts, Judgement


def stories_section(facts: Facts, judgement: Judgement) -> str:
    """Not filled yet."""
    return ""
