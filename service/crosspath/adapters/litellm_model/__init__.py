"""The ``Model`` port over litellm: any provider, one attempt, the reply exactly as it came."""

from crosspath.adapters.litellm_model.model import LitellmModel
from crosspath.adapters.litellm_model.prices import known_prices
from crosspath.adapters.litellm_model.probing import probe

__all__ = ["LitellmModel", "known_prices", "probe"]
