"""The faces of the pretend cloud's API: one module per family of endpoints, each a table of routes.

`table.py` joins them; a face reads JSON, calls the world, and shows what came of it.
"""
