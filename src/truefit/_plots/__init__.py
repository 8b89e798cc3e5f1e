"""Drawing primitives: plain arrays in, a matplotlib Axes out. The only room with matplotlib.

Without ``ax`` a function draws on a figure of its own, outside pyplot: nothing is left behind in a global
list of figures and no window opens. matplotlib is imported when the first picture is drawn.
"""
