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
from truefit.cli.standard_output import claim_standard_output


def main() -> None:
    """Run the command line."""
    claim_standard_output()
    app()


if __name__ == "__main__":
    main()
