"""The schema's history: Alembic's environment (`env.py`) and the revisions.

A revision never imports the tables of today: it says in full what changed then. It is never edited once
released.
"""
