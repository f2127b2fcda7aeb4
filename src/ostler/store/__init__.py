"""SQL and nothing else: one file per table, and the database they live in.

Functions here take a `Connection` inside a transaction that a caller opened with `Database.write` or
`Database.read`. They decide nothing and wait for nothing. A new table is a new file that hangs its `Table` on
`schema.metadata`, a line in `tables.py`, and a revision in `migrations/`.
"""
