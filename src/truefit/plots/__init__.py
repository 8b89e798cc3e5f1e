"""Drawing primitives: plain arrays in, a matplotlib Axes out. The only room with matplotlib.

Without ``ax`` a function draws on a figure of its own, outside pyplot: nothing is left behind in a global
list of figures and no window opens. matplotlib is imported when the first picture is drawn.
"""

from truefit.plots.confusion import confusion
from truefit.plots.folds import fold_scores
from truefit.plots.forest import forest
from truefit.plots.predicted import predicted_vs_true
from truefit.plots.svg import to_svg

__all__ = ["confusion", "fold_scores", "forest", "predicted_vs_true", "to_svg"]
