"""What is collected where: networks are tested by ``make test-torch``, where torch is installed."""

from importlib.util import find_spec

collect_ignore = [] if find_spec("torch") else ["tests/torch", "src/truefit/torch", "docs/networks.md"]
