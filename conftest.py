"""What is collected where: networks are tested by ``make test-torch``, where torch is installed."""

from importlib.util import find_spec

collect_ignore = ["docs/conf.py", "docs/_extensions", "docs/gallery"]  # the site is built by ``make docs``
collect_ignore += ["tests/executors/other_systems"]  # importing these takes away what other systems lack
if not find_spec("torch"):
    collect_ignore += ["tests/torch", "src/truefit/torch", "docs/networks.md"]
