"""Which signals ask a process to stop: a supervisor's, a person's, and that of a terminal that is closed.

Who was started by `nohup` has been told to outlive its terminal, and does.
"""

import signal


def stop_signals() -> tuple[signal.Signals, ...]:
    """Return the signals that are a wish to stop."""
    if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
        return (signal.SIGINT, signal.SIGTERM)
    return (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
