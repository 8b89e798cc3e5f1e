"""Contract suites: what every store, executor and solver must do, as tests that are run against yours."""
