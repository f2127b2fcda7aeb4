"""What Ostler tells about itself: logs, metrics, traces. A leaf: any part may use it, it uses no part.

Secrets never leave through here: `redaction` is applied to every log entry and every span.
"""
