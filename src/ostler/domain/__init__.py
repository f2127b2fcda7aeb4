"""The rules: states and arrows, offers and their choice, readiness, cost, errors.

Standard library only; no I/O and no waiting. Everything here is a value or a pure function of values.
"""
