"""Novita.ai as a Cloud: its paths, its JSON, its quirks. Nobody else knows them.

`client.py` implements the port; the rest turns the vendor's words into ours and refuses what it cannot read.
"""
