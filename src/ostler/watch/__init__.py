"""The watcher: lists the account, compares it with the rows, and turns differences into changes.

One in the cluster, under a lease; its work is constant, whatever changes. Here too: the regular probes of
what is ready, the prober itself, and the guard that refuses writes to an account that may not be ours.
"""
