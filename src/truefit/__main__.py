"""``python -m truefit`` and ``truefit`` run the command line."""

from __future__ import annotations

# Each adds its command.
from truefit._cli import (  # noqa: F401
    agghoo,
    assess,
    compare,
    curve,
    evaluate,
    importance,
    perturb,
    predict,
    reproduce,
    runs,
    study,
    validate,
)
from truefit._cli.app import app
from truefit._cli.messages import standard_output_claimed


def main() -> None:
    """Run the command line."""
    with standard_output_claimed():
        app()


if __name__ == "__main__":
    main()
