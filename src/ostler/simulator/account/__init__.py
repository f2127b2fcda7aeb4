"""What an account of the pretend cloud owns besides its instances.

Each module holds one kind of resource as frozen dataclasses, with the pure functions that check and change
it. Nothing here does I/O or reads a clock: an instant comes in as unix seconds, and what time alone changes
(a job that ends, a network that becomes ready) is computed from it when asked.
"""
