"""Ostler looks after rented GPU instances: a control plane over one durable core.

The folders are the architecture; ARCHITECTURE.md is their map.
"""

__version__ = "0.1.0"
