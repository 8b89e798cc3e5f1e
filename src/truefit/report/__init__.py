"""Reports: plain dicts rendered to HTML, and progress on a terminal or in a notebook."""

from truefit.report.fragment import render_fragment
from truefit.report.page import render_page
from truefit.report.progress import TerminalProgress

__all__ = ["TerminalProgress", "render_fragment", "render_page"]
