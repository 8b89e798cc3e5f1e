"""Files that commands write: never over an input, whole or not at all, and for their owner's eyes only."""

import contextlib
import io
import os
import resource
import shutil
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris
from tests.cli.command import truefit

from truefit._cli.outputs import check_distinct, check_output, csv_text, replace_whole, write_text
from truefit._core.errors import InvalidInput, WriteFailed

MODELS = "from sklearn.naive_bayes import GaussianNB\nmodel = GaussianNB()\n"
PAGE = "<!doctype html><html>old</html>"


@pytest.fixture
def folder(tmp_path):
    load_iris(as_frame=True).frame.to_csv(tmp_path / "d.csv", index=False)
    (tmp_path / "models.py").write_text(MODELS)
    (tmp_path / "sub").mkdir()
    (tmp_path / "link.csv").symlink_to("d.csv")
    os.link(tmp_path / "d.csv", tmp_path / "hard.csv")
    return tmp_path


@contextlib.contextmanager
def umask(value):
    before = os.umask(value)
    try:
        yield
    finally:
        os.umask(before)


INPUTS = {
    "the table": ("d.csv", "d.csv"),
    "by a way around": ("d.csv", "sub/../d.csv"),
    "by a symbolic link": ("d.csv", "link.csv"),
    "by a hard link": ("d.csv", "hard.csv"),
    "the target of the link that is read": ("link.csv", "hard.csv"),
    "a database": ("sqlite:///d.csv#t", "sub/../d.csv"),
    "a log beside a store": ("runs.db", "runs.db-wal"),
    "a store that is not there yet": ("runs.db", "sub/../runs.db"),
    "a file of models": ("models.py:model", "./models.py"),
}


@pytest.mark.parametrize("case", INPUTS)
def test_no_output_goes_over_an_input(folder, monkeypatch, case):
    monkeypatch.chdir(folder)
    read, place = INPUTS[case]
    with pytest.raises(InvalidInput, match=r"This would overwrite .*, which the run reads\. Name another file\."):
        check_output(type(folder)(place), (None, read))


@pytest.mark.parametrize("place", ["d.csv", "sub/../d.csv", "link.csv", "hard.csv", "models.py", "sub/../runs.db"])
def test_commands_refuse_before_any_work(folder, place):
    before = (folder / "d.csv").read_bytes()
    common = ("d.csv", "--target", "target", "--models", "models.py:model", "--store", "runs.db")
    for options in (("assess", *common, "--predictions"), ("study", *common, "--out")):
        done = truefit(*options, place, cwd=folder)
        assert done.returncode == 2, done.stderr
        assert "This would overwrite" in done.stderr
    assert (folder / "d.csv").read_bytes() == before
    assert (folder / "models.py").read_text() == MODELS
    assert not (folder / "runs.db").exists()


def test_two_outputs_need_two_files(folder):
    (folder / "other").symlink_to("out")
    with pytest.raises(InvalidInput, match="Every output needs a file of its own"):
        check_distinct(folder / "out", None, folder / "other")
    check_distinct(folder / "out", None, folder / "others")


def test_a_new_file_is_for_its_owner_and_an_old_one_keeps_its_mode(tmp_path):
    for mask in (0, 0o077, 0o777):
        with umask(mask):
            write_text(tmp_path / f"{mask}", "new")
        assert (tmp_path / f"{mask}").stat().st_mode & 0o7777 == 0o600
    (tmp_path / "old").write_text("old")
    (tmp_path / "old").chmod(0o644)
    write_text(tmp_path / "old", "new")
    assert (tmp_path / "old").stat().st_mode & 0o7777 == 0o644
    assert (tmp_path / "old").read_text() == "new"


def test_what_commands_write_is_for_its_owner(folder):
    with umask(0):
        options = "--models models.py:model --store runs.db --out r.html --save m.skops --budget 20s --workers 1"
        done = truefit("study", "d.csv", "--target", "target", *options.split(), cwd=folder)
        assert done.returncode == 0, done.stderr
        done = truefit("assess", "d.csv", "--target", "target", "--predictions", "p.csv", "--plot", "p.png", cwd=folder)
        assert done.returncode == 0, done.stderr
        done = truefit("predict", "m.skops", "d.csv", "--out", "q.csv", cwd=folder)
        assert done.returncode == 0, done.stderr
    for name in ("runs.db", "r.html", "m.skops", "p.csv", "p.png", "q.csv"):
        assert (folder / name).stat().st_mode & 0o7777 == 0o600, name


def test_a_link_is_followed_and_stays_a_link(tmp_path):
    (tmp_path / "real").write_text("old")
    (tmp_path / "link").symlink_to("real")
    write_text(tmp_path / "link", "new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_text() == "new"


def write_half(place, error):
    with replace_whole(place) as new:
        new.write_text("half")
        raise error


def test_whatever_goes_wrong_the_old_file_is_whole_and_nothing_is_left_over(tmp_path):
    (tmp_path / "old").write_text("old")
    for error in (RuntimeError, KeyboardInterrupt):
        with pytest.raises(error):
            write_half(tmp_path / "old", error)
    assert [(p.name, p.read_text()) for p in tmp_path.iterdir()] == [("old", "old")]


def test_a_read_only_file_or_folder_is_refused(tmp_path):
    (tmp_path / "old").write_text("old")
    (tmp_path / "old").chmod(0o444)
    with pytest.raises(InvalidInput, match="must be writable, and its folder too"):
        check_output(tmp_path / "old", ())
    (tmp_path / "closed").mkdir(mode=0o555)
    with pytest.raises(InvalidInput, match="is read-only"):
        check_output(tmp_path / "closed" / "new", ())


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no /dev/full")
def test_devices_are_written_to(tmp_path):
    with pytest.raises(WriteFailed, match="/dev/full could not be written: No space left on device"):
        write_text(type(tmp_path)("/dev/full"), "text")
    write_text(type(tmp_path)("/dev/null"), "text")
    done = truefit("assess", "iris", "--predictions", "/dev/stdout")
    assert done.returncode == 0, done.stderr
    assert "\nmodel,row," in done.stdout


@pytest.fixture
def small_disk(tmp_path):
    """A disk of 256 KB."""
    place = tmp_path / "disk"
    place.mkdir()
    if os.getuid() or shutil.which("mount") is None:
        pytest.skip("only root may mount a disk")
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", place], capture_output=True).returncode:
        pytest.skip("no disk can be mounted here")
    try:
        yield place
    finally:
        subprocess.run(["umount", place], check=True)


def full(place):
    """Fill a disk to the last byte."""
    with contextlib.suppress(OSError), open(place / "filler", "wb", buffering=0) as file:
        while True:
            file.write(bytes(1024))


def test_a_full_disk_leaves_the_old_files_whole(folder, small_disk):
    old = {"p.csv": b"old", "r.html": PAGE.encode(), "m.skops": b"old model", "p.png": b"old", "p.svg": b"old"}
    for name, content in old.items():
        (small_disk / name).write_bytes(content)
    full(small_disk)
    common = ("d.csv", "--target", "target", "--models", "models.py:model")
    commands = [
        ("assess", *common, "--predictions", small_disk / "p.csv"),
        ("assess", *common, "--plot", small_disk / "p.png"),
        ("assess", *common, "--plot", small_disk / "p.svg"),
        ("study", *common, "--budget", "20s", "--workers", "1", "--out", small_disk / "r.html"),
        ("agghoo", *common, "--save", small_disk / "m.skops"),
    ]
    for command in commands:
        done = truefit(*command, cwd=folder)
        assert done.returncode == 1, (command, done.stderr)
        assert "could not be written: No space left on device. The old file is unchanged." in done.stderr
        assert "Traceback" not in done.stderr
    there = {p.name: p.read_bytes() for p in small_disk.iterdir() if p.name != "filler"}
    assert there == old


def test_a_limit_on_files_leaves_the_old_file_whole(folder):
    """As a full disk, for those who may not mount one: in a process of its own, which may write 2 KB a file."""
    (folder / "p.csv").write_text("old")
    done = subprocess.run(
        [sys.executable, "-m", "truefit", "assess", "d.csv", "--target=target", "--predictions=p.csv"],
        cwd=folder, capture_output=True, text=True, timeout=120,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (2048, 2048)),
    )  # fmt: skip
    assert done.returncode == 1, done.stderr
    assert "p.csv could not be written: File too large. The old file is unchanged." in done.stderr
    assert "Traceback" not in done.stderr
    assert (folder / "p.csv").read_text() == "old"
    assert not [name for name in os.listdir(folder) if name.startswith(".truefit")]
    assert len(pd.read_csv(folder / "d.csv")) == 150


FORMULAS = ["=1+1", "+cmd|' /C calc'!A0", "-2+3", "@SUM(A1)", "\t=1", "\r=1", "\n=1", "＝1"]
LATER = ["a=b", "-1", "+1.5e3", "a\r=1", ""]


@pytest.mark.parametrize("kind", [object, "string", "category"])
def test_text_that_would_be_a_formula_gets_an_apostrophe(kind):
    frame = pd.DataFrame({"=x": pd.Series([*FORMULAS, *LATER, None], dtype=kind)})
    back = pd.read_csv(io.StringIO(csv_text(frame), newline=""), dtype=str, keep_default_na=False)
    assert back.columns.tolist() == ["'=x"]
    assert back["'=x"].tolist() == [*(f"'{each}" for each in FORMULAS), *LATER, ""]


def test_numbers_stay_numbers():
    frame = pd.DataFrame({"a": [-1.5, np.nan], "b": [-1, 2], "c": [True, False], "d": pd.array([-1, None], "Int64")})
    assert csv_text(frame) == frame.to_csv(index=False)


def test_the_frame_itself_is_not_changed_and_names_may_repeat():
    frame = pd.DataFrame([["=a", "=b"]], columns=["x", "x"])
    assert csv_text(frame) == "x,x\n'=a,'=b\n"
    assert frame.iloc[0].tolist() == ["=a", "=b"]


def test_class_labels_in_what_the_commands_write(tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"size": rng.normal(size=60)})
    frame["kind"] = np.where(frame["size"] > 0, "=HYPERLINK(1)", "@no")
    frame.to_csv(tmp_path / "t.csv", index=False)
    done = truefit("assess", "t.csv", "--target", "kind", "--predictions", "p.csv", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    written = pd.read_csv(tmp_path / "p.csv")
    assert set(written["y"]) == {"'=HYPERLINK(1)", "'@no"}
    assert set(written["prediction"]) <= {"'=HYPERLINK(1)", "'@no"}
    pytest.importorskip("skops.io")
    done = truefit("agghoo", "t.csv", "--target", "kind", "--model", "linear", "--save", "m.skops", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    for options in (("--out", "q.csv"), ()):
        done = truefit("predict", "m.skops", "t.csv", *options, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        text = (tmp_path / "q.csv").read_text() if options else done.stdout
        assert set(pd.read_csv(io.StringIO(text))["prediction"]) == {"'=HYPERLINK(1)", "'@no"}
