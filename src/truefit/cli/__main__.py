"""Run the command line."""

from __future__ import annotations

from truefit.cli import agghoo, assess, compare, curve, perturb, reproduce, study  # noqa: F401  (each adds its command)
from truefit.cli.app import app


def main() -> None:
    """Run the command line."""
    app()


if __name__ == "__main__":
    main()
