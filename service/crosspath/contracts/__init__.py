"""Contracts: what a model is told about how its reply travels, as Markdown with front matter, or written from a path's layers."""

from crosspath.contracts.parsing import parse_contract
from crosspath.contracts.telling import LONGEST_TOLD, ToldStep, tell

__all__ = ["LONGEST_TOLD", "ToldStep", "parse_contract", "tell"]
