"""
Dask, and resuming an interrupted run
=====================================

``Engine`` says where fits run and where they are kept. With a store, a run that was
interrupted goes on where it stopped; with an executor, fits run on other processes or
machines. The results do not depend on either.
"""

# %%
# A store is an SQLite file. Twelve trees are cross-validated here:

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits
from sklearn.tree import DecisionTreeClassifier

from truefit import Engine, assess

X, y = load_digits(return_X_y=True)
trees = {
    f"depth {depth}": DecisionTreeClassifier(max_depth=depth, random_state=0)
    for depth in range(1, 13)
}
folder = tempfile.TemporaryDirectory()
store = Path(folder.name, "runs.db")

# %%
# The first run gets through half of the models, as if it had been killed there:

with Engine(store) as engine:
    assess(dict(list(trees.items())[:6]), X, y, engine=engine)
    print("first run: ", engine.stats.run, "fits run")

# %%
# The second run, in a new process or on the next day, asks for all of them. Finished
# fits are read from the store:

with Engine(store) as engine:
    result = assess(trees, X, y, engine=engine)
    print(
        "second run:",
        engine.stats.run,
        "fits run,",
        engine.stats.stored,
        "read from the store",
    )

# %%
# The same on a Dask cluster. Here it is two workers on this machine;
# ``Client("tcp://head-node:8786")`` is a real one, and ``truefit study ... --cluster
# tcp://head-node:8786`` uses it from the command line.

from distributed import Client, LocalCluster

options = {
    "n_workers": 2,
    "threads_per_worker": 1,
    "processes": False,
    "dashboard_address": None,
}
with LocalCluster(**options) as cluster, Client(cluster) as client:
    there = assess(trees, X, y, engine=Engine(executor=client.get_executor()))
print("equal to the bit:", there.estimate == result.estimate)

# %%
# All of these numbers come from stored predictions, so another metric or a picture
# costs nothing:

figure, ax = plt.subplots(figsize=(6.4, 4), layout="constrained")
result.plot(ax=ax)
folder.cleanup()

# %%
# The guide :doc:`/guide/clusters` has SLURM, Ray, MPI, and what happens when a worker
# or the scheduler dies.
