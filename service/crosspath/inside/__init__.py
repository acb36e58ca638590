"""What runs inside the sandbox: the layers that interpret a reply, and the programs that run it.

Standard library only, and nothing of Crosspath outside of this package: a sandbox shows it read-only to the system's own Python,
which may be older than ours. The trusted side imports only ``edits`` from here: plain functions of text.
"""
