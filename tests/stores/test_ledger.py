import gc
import tracemalloc

from truefit._core.spill import SpillFile
from truefit._stores.ledger import Ledger


def test_entries_are_found_by_name_however_many_share_a_chain():
    for chains in (1, 7, 1 << 12):
        ledger = Ledger(SpillFile(), chains=chains)
        for i in range(200):
            ledger.add(b"%d" % (i % 50), b"content %d" % i)
        for name in range(50):
            expected = [b"content %d" % i for i in range(name + 150, -1, -50)]
            assert list(ledger.entries(b"%d" % name)) == expected
        assert list(ledger.entries(b"50")) == []


def test_names_that_begin_alike_are_told_apart():
    ledger = Ledger(SpillFile(), chains=1)
    ledger.add(b"a", b"bc")
    ledger.add(b"ab", b"c")
    assert [list(ledger.entries(name)) for name in (b"a", b"ab", b"abc")] == [[b"bc"], [b"c"], []]


def test_large_entries_are_read_whole():
    ledger = Ledger(SpillFile(), chains=1)
    contents = [bytes([i]) * length for i, length in enumerate((0, 3980, 3985, 3986, 3987, 4000, 90_000))]
    for i, content in enumerate(contents):
        ledger.add(b"%d" % i, content)
    assert [next(ledger.entries(b"%d" % i)) for i in range(len(contents))] == contents


def test_there_is_no_index_in_memory():
    ledger = Ledger(SpillFile())
    gc.collect()
    tracemalloc.start()
    for i in range(5_000):
        ledger.add(b"%032d" % i, b"content")
    held = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    assert held < 5_000 * 2
