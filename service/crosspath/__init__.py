"""Crosspath: which stage of a deployment configuration broke."""

__version__ = "0.1.0"
