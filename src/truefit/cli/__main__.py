"""Run the command line."""

from __future__ import annotations

from truefit.cli import (  # noqa: F401  (each adds its command)
    agghoo,
    assess,
    compare,
    curve,
    perturb,
    predict,
    reproduce,
    runs,
    show,
    study,
)
from truefit.cli.app import app


def main() -> None:
    """Run the command line."""
    app()


if __name__ == "__main__":
    main()
