from benchmarks import racing
from truefit import Engine, Race
from truefit._core.data import Data


def test_a_hundred_different_candidates():
    assert len({str(each) for each in racing.CANDIDATES}) == 100


def test_a_race_counts_its_own_fits_and_the_whole_search_all(monkeypatch):
    monkeypatch.setattr(racing, "CANDIDATES", [racing.CANDIDATES[place] for place in (8, 22, 26, 40)])
    (X, y), test = racing.drawn("breast_cancer", None, 0)
    data = Data(X, y, task="classification")
    engine = Engine(solvers="plain")
    whole = racing.ran(data, test, 5, None, engine)
    race = racing.ran(data, test, 5, Race(), engine)
    nested = racing.ran(data, test, 5, Race(), engine, nested=True)
    assert whole.fits == 20
    assert 8 <= race.fits < 20 < nested.fits < 60
    assert 0 < race.seconds < whole.seconds
    assert 0 < race.error < 0.1
    text = racing.line("breast_cancer", [(whole, race)])
    assert f"{race.fits} of 20" in text
