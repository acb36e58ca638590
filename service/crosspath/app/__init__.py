"""The application: joins spec, pipeline and adapters. ``api`` is what users call."""
