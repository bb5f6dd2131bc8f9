"""Entry point of ``python -m sklearn_dprank``; see `sklearn_dprank.cli`."""

from .cli import main

if __name__ == "__main__":
    raise SystemExit(main())
