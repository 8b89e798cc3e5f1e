"""Run the command line."""

from __future__ import annotations

# Each adds its command.
from truefit._cli import agghoo, assess, compare, curve, perturb, predict, reproduce, runs, study  # noqa: F401
from truefit._cli.app import app
from truefit._cli.messages import standard_output_claimed


def main() -> None:
    """Run the command line."""
    with standard_output_claimed():
        app()


if __name__ == "__main__":
    main()
