"""Table 1 of Brumen et al.: its columns come out of its own numbers."""

from papers.brumen import EXPERIMENT
from papers.experiment import Setting


def test_its_columns_come_out_of_its_own_numbers() -> None:
    page = EXPERIMENT.run(Setting(quick=True))
    held = {claim.what: claim.holds for claim in page.claims}
    assert [what for what, holds in held.items() if not holds] == ["where that is largest"]
    assert page.claims[0].here == "22 the same"
    assert page.claims[1].here == "21 the same"
    assert len(page.tables) == 2
    assert "A quick run" in page.notes[-1]
