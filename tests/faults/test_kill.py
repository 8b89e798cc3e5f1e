import pytest
from benchmarks.kill_and_resume import kill_again_and_again


@pytest.mark.slow
def test_a_run_killed_twenty_times_with_its_workers_goes_on_where_it_was(tmp_path):
    found = kill_again_and_again(20, tmp_path)
    assert found.equal
    assert found.run_again == 0
    assert found.integrity == "ok"
