"""Reports: plain dicts rendered to HTML, and progress on a terminal or in a notebook."""

from truefit._report.html import render_fragment
from truefit._report.page import render_page
from truefit._report.progress import TerminalProgress

__all__ = ["TerminalProgress", "render_fragment", "render_page"]
