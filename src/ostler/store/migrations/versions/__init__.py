"""The revisions, oldest first by number.

Each names the one before it; each is additive, so that a replica of the version before can go on beside it.
"""
