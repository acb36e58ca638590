"""Fakes that ship: one per port, held to the same contract tests as the real adapters."""
