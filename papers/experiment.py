"""What a paper reports, how to run it again, and the page that sets its numbers beside ours."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from truefit import Engine


@dataclass(frozen=True)
class Claim:
    """One thing that a paper says, what was found here, and whether the two agree.

    ``holds`` is None where that cannot be judged.
    """

    what: str
    paper: str
    here: str
    holds: bool | None


@dataclass(frozen=True)
class Table:
    """Columns and lines of text under a heading."""

    heading: str
    columns: Sequence[str]
    lines: Sequence[Sequence[str]]
    note: str = ""

    def to_markdown(self) -> str:
        """Return it as Markdown."""
        parts = [f"### {self.heading}", markdown_table(self.columns, self.lines)]
        return "\n\n".join([*parts, self.note] if self.note else parts)


@dataclass(frozen=True)
class Page:
    """How an experiment was run, what of the paper it shows again and what not, and the numbers.

    ``beside`` names what the numbers are set beside: the paper's, or what is wanted of them.
    """

    method: str
    claims: Sequence[Claim] = field(default_factory=list)
    tables: Sequence[Table] = field(default_factory=list)
    notes: Sequence[str] = field(default_factory=list)
    beside: str = "paper"

    @property
    def verdict(self) -> str:
        """Say in a sentence how much of the paper was found again."""
        judged = [claim for claim in self.claims if claim.holds is not None]
        failed = [claim.what for claim in judged if not claim.holds]
        if not judged:
            return "Nothing is judged."
        if not failed:
            return f"All {len(judged)} comparisons agree with {_WHOM.get(self.beside, self.beside)}."
        return f"{len(judged) - len(failed)} of {len(judged)} comparisons agree. Not reproduced: {'; '.join(failed)}."

    def to_markdown(self, name: str, title: str, made: str) -> str:
        """Return the page as one section of Markdown.

        Parameters
        ----------
        name, title : str
            Of the experiment.
        made : str
            How it was made: the command and the versions.

        Examples
        --------
        >>> page = Page("Done by hand.", [Claim("the sum", "4", "5", False)])
        >>> print(page.to_markdown("sum", "A sum", "With care."))
        ## sum: A sum
        <BLANKLINE>
        Done by hand.
        <BLANKLINE>
        With care.
        <BLANKLINE>
        **0 of 1 comparisons agree. Not reproduced: the sum.**
        <BLANKLINE>
        | what | paper | here | agrees |
        |---|---|---|---|
        | the sum | 4 | 5 | **no** |
        """
        parts = [f"## {name}: {title}", self.method, made]
        if self.claims:
            lines = [(claim.what, claim.paper, claim.here, _AGREES[claim.holds]) for claim in self.claims]
            parts += [f"**{self.verdict}**", markdown_table(("what", self.beside, "here", "agrees"), lines)]
        parts += [table.to_markdown() for table in self.tables]
        if self.notes:
            parts.append("\n".join(f"- {note}" for note in self.notes))
        return "\n\n".join(parts)


_WHOM = {"paper": "the paper", "wanted": "what is wanted"}
_AGREES = {True: "yes", False: "**no**", None: "not judged"}


def markdown_table(columns: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    """Return a table in Markdown.

    Examples
    --------
    >>> print(markdown_table(("a", "b"), [("1", "2|3")]))
    | a | b |
    |---|---|
    | 1 | 2\\|3 |
    """
    return "\n".join([_line(columns), "|" + "---|" * len(columns), *map(_line, lines)])


def signed(value: float, digits: int) -> str:
    """Return a difference with its sign; one that rounds to nothing has none.

    Examples
    --------
    >>> signed(0.126, 2), signed(-0.001, 2)
    ('+0.13', '0.00')
    """
    text = f"{value:+.{digits}f}"
    return text if float(text) else text[1:]


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def with_section(document: str, name: str, section: str) -> str:
    """Return a document with this section in place of the one of the same name, or behind the others.

    Examples
    --------
    >>> once = with_section("# Pages\\n", "sum", "2 + 2 = 5")
    >>> print(with_section(once, "sum", "2 + 2 = 4"))
    # Pages
    <BLANKLINE>
    <!-- reproduced: sum -->
    <BLANKLINE>
    2 + 2 = 4
    <BLANKLINE>
    <!-- end: sum -->
    <BLANKLINE>
    """
    start, end = f"<!-- reproduced: {name} -->", f"<!-- end: {name} -->"
    block = f"{start}\n\n{section}\n\n{end}"
    before, found, rest = document.partition(start)
    if not found:
        return "\n\n".join(part for part in (document.rstrip(), block) if part) + "\n"
    _, closed, after = rest.partition(end)
    return f"{before}{block}{after}" if closed else f"{before}{block}\n"


@dataclass(frozen=True)
class Setting:
    """What an experiment is run with.

    Attributes
    ----------
    engine : Engine
        Runs the fits, and keeps them if it has a store.
    folder : Path or None
        Where the tables are; without it they are downloaded.
    quick : bool
        Whether to make do with less; the page then says what was left out.
    tell : callable
        Is told in a line what is being done.
    """

    engine: Engine = field(default_factory=Engine)
    folder: Path | None = None
    quick: bool = False
    tell: Callable[[str], None] = lambda line: None


@dataclass(frozen=True)
class Experiment:
    """One of a paper's tables or figures.

    Attributes
    ----------
    name : str
        What it is asked for by.
    title : str
    needs : str
        Which tables it needs and how long it takes, in words.
    run : callable
        Takes a Setting, returns the Page.
    """

    name: str
    title: str
    needs: str
    run: Callable[[Setting], Page]
