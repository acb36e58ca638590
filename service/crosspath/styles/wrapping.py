"""The instruction inside of a style's text."""

from crosspath.types import RequestStyle

INSTRUCTION = "{instruction}"
"""The line of a style's text that the instruction replaces."""
PLAIN = RequestStyle(name="plain", text=INSTRUCTION)
"""The instruction and nothing else: what every request was before there were styles."""


def wrap(style: RequestStyle, instruction: str) -> str:
    """``instruction`` as the style puts it. No template engine: braces, marks and line ends in it mean nothing here."""
    before, _, after = style.text.partition(INSTRUCTION)
    return before + instruction + after
