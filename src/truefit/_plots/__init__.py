"""Drawing primitives: plain arrays in, a matplotlib Axes out. The only room with matplotlib.

Without ``ax`` a function draws on a figure of its own, outside pyplot: nothing is left behind in a global
list of figures and no window opens. matplotlib is imported when the first picture is drawn.
"""

from truefit._plots.bias_variance import bias_variance
from truefit._plots.calibration import calibration
from truefit._plots.confusion import confusion
from truefit._plots.curve import bands
from truefit._plots.forest import differences, fold_scores, forest
from truefit._plots.learning_curve import extrapolation, learning_curve
from truefit._plots.regression import predicted_vs_true, residuals
from truefit._plots.roc import precision_recall, roc
from truefit._plots.svg import to_svg

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
