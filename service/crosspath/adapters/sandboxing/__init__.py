"""What the sandbox adapters share: work directories, capture, limits, and reading the state of what is dead."""
