"""Nested samples of a million rows on demand, against reading the whole table: time, memory, and the same rows."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

ROWS, COLUMNS = 1_000_000, 20
SIZES = (1_000, 2_500, 5_000, 10_000)

MAKE = """
import sqlite3, sys
import numpy as np, pandas as pd
folder, rows, columns = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
rng = np.random.default_rng(0)
frame = pd.DataFrame(rng.normal(size=(rows, columns)).round(4), columns=[f"x{i}" for i in range(columns)])
frame["city"] = rng.choice(["Ulm", "Jena", "Graz"], rows)
frame["y"] = np.where(frame["x0"] + rng.normal(size=rows) > 0, "yes", "no")
frame.to_parquet(folder + "/million.parquet")
frame.to_csv(folder + "/million.csv", index=False)
with sqlite3.connect(folder + "/million.db") as connection:
    frame.to_sql("million", connection, index=False, chunksize=50_000)
connection.close()
"""

RUN = """
import hashlib, re, sys, time
from pathlib import Path
import numpy as np, pandas as pd, pyarrow.parquet
from truefit.sources import open_rows
from truefit.sources.files import read_frame
from truefit.sources.on_demand import first_keys
path, way, sizes = sys.argv[1], sys.argv[2], [int(size) for size in sys.argv[3].split(",")]
def memory(what):
    # Not getrusage, which counts in what the process was before it became this one.
    return int(re.search(what + r":\\s+(\\d+) kB", Path("/proc/self/status").read_text())[1]) / 1024
before, start = memory("VmRSS"), time.perf_counter()
if way == "whole":
    frame = read_frame(Path(path))
    sample = frame.iloc[first_keys([np.arange(len(frame))], sizes[-1])].reset_index(drop=True)
else:
    rows = open_rows(path, "y", **({} if path.endswith(".db") else {"whole": False}))
    for size in sizes:
        X, y = rows.take(size)
    sample = X.assign(y=y)
seconds = time.perf_counter() - start
content = hashlib.sha256(sample.to_csv(index=False).encode()).hexdigest()[:12]
print(seconds, memory("VmHWM") - before, content)
"""


def measured(path, way):
    """Seconds, MB at most beyond what the imports take, and a digest of the rows."""
    command = [sys.executable, "-c", RUN, str(path), way, ",".join(map(str, SIZES))]
    seconds, megabytes, content = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    return float(seconds), float(megabytes), content


def main():
    print(f"Samples of {', '.join(f'{size:,}' for size in SIZES)} rows out of {ROWS:,} with {COLUMNS + 2} columns")
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, "-c", MAKE, folder, str(ROWS), str(COLUMNS)], check=True)
        for name in ("million.parquet", "million.csv"):
            path = Path(folder, name)
            whole, parts = measured(path, "whole"), measured(path, "parts")
            same = "the same rows" if whole[2] == parts[2] else "OTHER ROWS"
            print(f"  {path.suffix[1:]:8} {path.stat().st_size / 2**20:.0f} MB on disk")
            print(f"    whole: {whole[0]:.1f} s, {whole[1]:.0f} MB")
            print(f"    on demand: {parts[0]:.1f} s, {parts[1]:.0f} MB, {whole[1] / parts[1]:.1f} times less; {same}")
        path = Path(folder, "million.db")
        seconds, megabytes, _ = measured(path, "parts")
        size = path.stat().st_size / 2**20
        print(f"  sqlite   {size:.0f} MB on disk")
        print(f"    on demand: {seconds:.1f} s, {megabytes:.0f} MB")


if __name__ == "__main__":
    main()
