"""Contracts: what a model is told about how its reply travels, as Markdown with front matter."""

from crosspath.contracts.parsing import parse_contract

__all__ = ["parse_contract"]
