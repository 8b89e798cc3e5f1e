from papers.experiment import Claim, Page, Table, with_section

MADE = "`truefit reproduce it`"


def test_what_does_not_reproduce_is_named():
    page = Page("How.", [Claim("one", "1", "1", True), Claim("two", "2", "3", False), Claim("three", "3", "?", None)])
    assert page.verdict == "1 of 2 comparisons agree. Not reproduced: two."
    text = page.to_markdown("it", "It", MADE)
    assert "| two | 2 | 3 | **no** |" in text
    assert "| three | 3 | ? | not judged |" in text


def test_all_that_agrees():
    assert Page("How.", [Claim("one", "1", "1", True)]).verdict == "All 1 comparisons agree with the paper."


def test_tables_and_notes_follow_the_comparisons():
    page = Page("How.", [], [Table("Numbers", ("a", "b"), [("1", "2")], "Seen.")], ["first", "second"])
    assert page.to_markdown("it", "It", MADE) == (
        "## it: It\n\nHow.\n\n`truefit reproduce it`\n\n### Numbers\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\nSeen.\n\n"
        "- first\n- second"
    )


def test_a_section_replaces_its_own_and_leaves_the_others():
    document = with_section(with_section("# Title\n\nBy hand.\n", "a", "first"), "b", "other")
    again = with_section(document, "a", "second")
    assert again == document.replace("first", "second")
    assert again.startswith("# Title\n\nBy hand.\n\n<!-- reproduced: a -->")
    assert with_section(again, "a", "second") == again


def test_a_section_that_was_cut_off_is_written_again():
    document = with_section("# Title\n", "a", "first")
    cut = document[: document.index("first")]
    assert with_section(cut, "a", "first") == document
