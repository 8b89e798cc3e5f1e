"""Drawing functions: plain arrays in, a matplotlib Axes out. No other package imports matplotlib.

Without ``ax`` a function draws on a new figure. In a notebook that figure is displayed below the cell; elsewhere it is
outside of pyplot, so no window opens and no figure stays in memory. matplotlib is imported when the first picture is
drawn.
"""
