"""Telling the world: webhooks and the live feed, both read from the event log.

`fanout.py` writes deliveries in the transaction of the event itself, `sender.py` sends them, `feed.py`
carries the same events to whoever listens here and now. Nothing in here changes an instance.
"""
