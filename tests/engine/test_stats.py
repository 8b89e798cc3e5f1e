import gc
import tracemalloc

from truefit._engine.stats import KeySet


def test_what_was_added_is_in_and_nothing_else():
    seen = KeySet()
    for i in range(0, 10_000, 2):
        seen.add(f"{i:032x}")
        seen.add(f"{i:032x}")
    assert [i for i in range(10_000) if f"{i:032x}" in seen] == list(range(0, 10_000, 2))


def test_a_key_takes_few_bytes():
    gc.collect()
    tracemalloc.start()
    seen = KeySet()
    for i in range(20_000):
        seen.add(f"{i:032x}")
    held = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    assert held < 20_000 * 24 + 1_000
