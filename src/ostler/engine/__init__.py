"""Durable work over leased rows: ask, claim, run, record, rescue. It knows nothing of what the work is about.

A job is a row (`store/jobs.py`); a *body* is the coroutine that does its work and answers with an
*outcome*. Rows are the truth and signals only haste: what a signal starts, the next poll would start
anyway. `engine.py` is the way in.
"""
