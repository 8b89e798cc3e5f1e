import pytest
from benchmarks.kill_and_resume import kill_again_and_again


def check(found):
    assert found.equal
    assert found.run_again == 0
    assert found.integrity == "ok"


def test_a_run_killed_with_its_workers_goes_on_where_it_was(tmp_path):
    check(kill_again_and_again(3, tmp_path, repeats=2))


@pytest.mark.slow
def test_killed_fifty_times(tmp_path):
    check(kill_again_and_again(50, tmp_path))
