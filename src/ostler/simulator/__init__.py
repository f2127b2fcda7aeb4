"""The pretend cloud: a faithful Novita to try Ostler on and to test it against.

A pure world with a clock, faults that can be asked for, and a thin HTTP server. Imports nothing of ours.
"""
