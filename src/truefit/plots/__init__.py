"""Drawing primitives: plain arrays in, a matplotlib Axes out. The only room with matplotlib.

Without ``ax`` a function draws on a figure of its own, outside pyplot: nothing is left behind in a global
list of figures and no window opens. matplotlib is imported when the first picture is drawn.
"""

from truefit.plots.bias_variance import bias_variance
from truefit.plots.calibration import calibration
from truefit.plots.confusion import confusion
from truefit.plots.curve import bands
from truefit.plots.differences import differences
from truefit.plots.extrapolation import extrapolation
from truefit.plots.folds import fold_scores
from truefit.plots.forest import forest
from truefit.plots.learning_curve import learning_curve
from truefit.plots.precision_recall import precision_recall
from truefit.plots.predicted import predicted_vs_true
from truefit.plots.residuals import residuals
from truefit.plots.roc import roc
from truefit.plots.svg import to_svg

__all__ = [
    "bands",
    "bias_variance",
    "calibration",
    "confusion",
    "differences",
    "extrapolation",
    "fold_scores",
    "forest",
    "learning_curve",
    "precision_recall",
    "predicted_vs_true",
    "residuals",
    "roc",
    "to_svg",
]
