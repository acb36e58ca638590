"""Preloaded by the server process of ``started``: what takes seconds to import."""

import crosspath.adapters.gx_validator
import crosspath.app.api
import crosspath.cli.evaluation_commands  # noqa: F401
from crosspath.adapters.litellm_model.vendor import litellm

litellm()
