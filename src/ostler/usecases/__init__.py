"""What can be asked of Ostler, one verb a file: load, ask the domain, save, signal.

No use case knows HTTP, and none waits for the cloud where a user waits for it.
"""
