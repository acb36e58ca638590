"""Settings of all tests."""

from hypothesis import settings

# How long an example takes depends on what else the machine does: a bound would be a timed assertion.
settings.register_profile("crosspath", deadline=None)
settings.load_profile("crosspath")
