"""Run by `make test-torch`, where torch and skorch are installed; elsewhere nothing here is collected."""

from importlib.util import find_spec

collect_ignore_glob = [] if find_spec("torch") and find_spec("skorch") else ["test_*.py"]
