"""The only place where long-lived objects are made and joined.

`parts.py` makes them from the settings, `server.py` runs them as one process, `checkup.py` examines them.
"""
