"""Paths: how a reply becomes executed commands. Pure text work; nothing here interprets a reply."""

from crosspath.transports.chain import REPORT, Watch
from crosspath.transports.cleanup import clean, is_fenced
from crosspath.transports.commands import reply_json
from crosspath.transports.config import parse_path
from crosspath.transports.express import express, express_abstention
from crosspath.transports.kinds import layer_kinds
from crosspath.transports.layers import MAX_ARGUMENT_BYTES, Kind
from crosspath.transports.paths import Path, assemble, survivable_presets
from crosspath.transports.presets import find_path, preset, preset_names
from crosspath.transports.problems import PRECEDENCE
from crosspath.transports.watching import Watched, watched

__all__ = [
    "MAX_ARGUMENT_BYTES",
    "PRECEDENCE",
    "REPORT",
    "Kind",
    "Path",
    "Watch",
    "Watched",
    "assemble",
    "clean",
    "express",
    "express_abstention",
    "find_path",
    "is_fenced",
    "layer_kinds",
    "parse_path",
    "preset",
    "preset_names",
    "reply_json",
    "survivable_presets",
    "watched",
]
