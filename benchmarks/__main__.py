"""`python -m benchmarks [name …]`: runs the benchmarks of this folder, all or those named.

A benchmark is a module with `main()`, which prints its table. Every one is bounded in time and load, and
talks to 127.0.0.1 only.
"""

import importlib
import pkgutil
import sys
from pathlib import Path


def main(names: list[str]) -> int:
    """Run the benchmarks; return an exit code."""
    known = sorted(
        module.name
        for module in pkgutil.iter_modules([str(Path(__file__).parent)])
        if not module.name.startswith("_")
    )
    unknown = [name for name in names if name not in known]
    if unknown:
        sys.stderr.write(f"no benchmark is called {', '.join(unknown)}; known: {', '.join(known)}\n")
        return 2
    for name in names or known:
        print(f"\n== {name}", flush=True)
        importlib.import_module(f"benchmarks.{name}").main()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
