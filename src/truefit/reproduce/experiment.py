"""Experiment: something that a paper reports, and how to run it again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from truefit._api.engine import Engine
from truefit.reproduce.page import Page


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
