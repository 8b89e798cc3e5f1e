"""The types that everything else speaks in: data, rows, tasks, outcomes, and their identity."""
