"""Request styles: the same instruction as different people write it, as Markdown with front matter.

A style only wraps. The instruction replaces one line literally, so that it survives byte for byte whatever it holds.
"""

from crosspath.styles.parsing import MARKS, parse_style
from crosspath.styles.wrapping import INSTRUCTION, PLAIN, wrap

__all__ = ["INSTRUCTION", "MARKS", "PLAIN", "parse_style", "wrap"]
