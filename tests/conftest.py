"""Settings of all tests."""

import gc

from hypothesis import settings

# How long an example takes depends on what else the machine does: a bound would be a timed assertion.
settings.register_profile("crosspath", deadline=None)
settings.load_profile("crosspath")

# Python looks for garbage after each 700 new objects. What is imported here is a million of them, and all stay.
gc.set_threshold(50_000, 10, 50)
