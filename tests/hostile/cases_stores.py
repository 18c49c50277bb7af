"""Stores of experiments, and folders of figures, that are forged, cut off, or of another version."""

from __future__ import annotations

import functools
import hashlib
import json
import shutil
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from ltr_duel.experiment import (
    StudyResults,
    make_plan,
    merge_stores,
    read_spec,
    read_status,
    run_experiment,
    verify_store,
)
from ltr_duel.preferences import PreferenceMatrix, save_preferences
from tests.hostile.case import Case

SPEC = """
policies = "mdb"
horizon = 20
repetitions = 2
matrices = [{ name = "m", p = [[0.5, 0.6, 0.7], [0.4, 0.5, 0.6], [0.3, 0.4, 0.5]] }]
"""
DEEP = "[" * 100_000 + "]" * 100_000


@functools.cache
def sound() -> Path:
    """Return a store of two runs."""
    folder = Path(tempfile.mkdtemp(prefix="ltr-duel-store-")) / "store"
    run_experiment(make_plan(read_spec("spec.toml", SPEC), jobs=1), folder)
    return folder


def store(*damages):
    """Return what copies the store to a place, and damages it there."""

    def write(path):
        shutil.copytree(sound(), path)
        for damage in damages:
            damage(path)

    return write


def one(folder, kind, suffix=".parquet"):
    return sorted((folder / kind).glob(f"*{suffix}"))[0]


def content(kind, data, suffix=".parquet"):
    """Replace a file by this text, or these bytes."""
    raw = data if isinstance(data, bytes) else data.encode()
    return lambda folder: one(folder, kind, suffix).write_bytes(raw)


def cut(kind, to=-40):
    def damage(folder):
        path = one(folder, kind)
        path.write_bytes(path.read_bytes()[:to])

    return damage


def gone(kind, suffix=".parquet"):
    return lambda folder: one(folder, kind, suffix).unlink()


def about(kind, change):
    """Change the JSON in a Parquet file's metadata: a function of the object, or what to put in its place."""

    def damage(folder):
        path = one(folder, kind)
        table = pq.read_table(path)
        old = json.loads(table.schema.metadata[b"ltr_duel"])
        new = change(old) if callable(change) else change
        text = new if isinstance(new, str) else json.dumps(new)
        pq.write_table(table.replace_schema_metadata({b"ltr_duel": text.encode()}), path)
        certify(path)

    return damage


def columns(kind, change):
    """Change the table of a Parquet file."""

    def damage(folder):
        path = one(folder, kind)
        table = pq.read_table(path)
        pq.write_table(change(table).replace_schema_metadata(table.schema.metadata), path)
        certify(path)

    return damage


def stripped(kind):
    """Take the metadata away."""

    def damage(folder):
        path = one(folder, kind)
        pq.write_table(pq.read_table(path).replace_schema_metadata({}), path)

    return damage


def certify(path):
    """Let the manifest of a forged run say that it is the right one."""
    manifest = path.with_suffix(".json")
    if manifest.exists():
        known = json.loads(manifest.read_text())
        manifest.write_text(json.dumps(known | {"sha256": hashlib.sha256(path.read_bytes()).hexdigest()}))


def put(table, name, values):
    return table.set_column(table.schema.get_field_index(name), name, values)


def changed(name, function):
    """Change the values of a column of whole numbers."""

    def change(table):
        values = function(table[name].to_numpy().copy())
        return put(table, name, pa.array(values))

    return change


def first_as(value):
    def function(values):
        values[0] = value
        return values

    return function


def flipped(folder):
    path = one(folder, "runs")
    data = bytearray(path.read_bytes())
    data[30] ^= 1
    data[31] ^= 1
    path.write_bytes(bytes(data))


def swapped(folder):
    """Give one run the file and the manifest of the other."""
    (first, second) = sorted((folder / "runs").glob("*.parquet"))
    shutil.copy(second, first)
    shutil.copy(second.with_suffix(".json"), first.with_suffix(".json"))


def other_matrix(p):
    return lambda folder: save_preferences(PreferenceMatrix(np.array(p)), one(folder, "problems"))


def failure(text):
    def damage(folder):
        run = one(folder, "runs")
        run.unlink()
        (folder / "failed" / f"{run.stem}.json").write_text(text)

    return damage


def folder_instead(kind):
    def damage(folder):
        path = one(folder, kind)
        path.unlink()
        path.mkdir()

    return damage


def problems(change):
    """Change the first problem that the plan names."""

    def damage(plan):
        plan["problems"][0] = change(plan["problems"][0])
        return plan

    return about("plans", damage)


PLAN = r"store/plans/[0-9a-f]{64}\.parquet: damaged, or not a plan \(.*'ltr-duel run'.* writes it anew"
RUN = r"store/runs/[0-9a-f]{64}\.parquet: damaged"
REPAIR = r"'ltr-duel verify --repair store' does the run again"

PLANS = {
    "empty": content("plans", b""),
    "text": content("plans", "a plan, and a long one, but as text"),
    "cut off": cut("plans"),
    "without metadata": stripped("plans"),
    "of a list": about("plans", [1, 2]),
    "of null": about("plans", "null"),
    "of no JSON": about("plans", "{"),
    "deeply nested": about("plans", DEEP),
    "of another version": about("plans", lambda plan: plan | {"format": "ltr_duel.plan/99"}),
    "of a run": about("plans", lambda plan: plan | {"format": "ltr_duel.run/1"}),
    "without its spec": about("plans", lambda plan: {key: plan[key] for key in plan if key != "spec"}),
    "with a number for a name": about("plans", lambda plan: plan | {"name": 3}),
    "with regrets of numbers": about("plans", lambda plan: plan | {"regrets": [1]}),
    "with problems by name": about("plans", lambda plan: plan | {"problems": {"m": {}}}),
    "with no problem": about("plans", lambda plan: plan | {"problems": []}),
    "with a problem that is a list": problems(lambda problem: [problem]),
    "with a problem without digest": problems(lambda problem: {"name": "m", "facts": {}, "values": {}}),
    "with facts that are lists": problems(lambda problem: problem | {"facts": {"source": ["a", "b"]}}),
    "with values that are words": problems(lambda problem: problem | {"values": {"utility": ["a", "b", "c"]}}),
    "with values that are a number": problems(lambda problem: problem | {"values": {"utility": 7}}),
    "without a column": columns("plans", lambda table: table.drop_columns("label")),
    "with horizons as text": columns("plans", lambda table: put(table, "horizon", pa.array(["20", "20"]))),
    "with digests that are null": columns("plans", lambda table: put(table, "digest", pa.nulls(2, pa.string()))),
    "on problem 7": columns("plans", lambda table: put(table, "problem", pa.array([7, 7], pa.int32()))),
    "on problem -1": columns("plans", lambda table: put(table, "problem", pa.array([-1, 0], pa.int32()))),
    "that is a folder": folder_instead("plans"),
}
READERS = ("status", "results", "verify")

RUNS = {
    "is cut off": (cut("runs"), "truncated: its end is missing"),
    "is empty": (content("runs", b""), "truncated: 0 bytes"),
    "is text": (content("runs", "something else, longer than twelve bytes"), "not a Parquet file"),
    "is a folder": (folder_instead("runs"), "cannot be read"),
    "has two other bytes": (flipped, "not the one its manifest describes"),
    "has the metadata of a list": (about("runs", [1]), "or no run"),
    "has deep metadata": (about("runs", DEEP), "or no run"),
    "has another version": (about("runs", lambda run: run | {"format": "ltr_duel.run/99"}), "no run of this program"),
    "has no key": (about("runs", lambda run: {"format": run["format"], "decisions": 1}), "'key' is missing"),
    "has a key that is a list": (about("runs", lambda run: run | {"key": []}), "'key' is not what it should be"),
    "has a key of words": (
        about("runs", lambda run: run | {"key": run["key"] | {"horizon": "20"}}),
        "'horizon' is not what it should be",
    ),
    "has another seed": (about("runs", lambda run: run | {"key": run["key"] | {"seed": 1}}), "the run is another one"),
    "has decisions of words": (about("runs", lambda run: run | {"decisions": "many"}), "'decisions' is not what"),
    "is the other one": (swapped, "the run is another one"),
    "has no pulls": (columns("runs", lambda table: table.drop_columns("pulls")), "the column"),
    "has no times": (columns("runs", lambda table: table.drop_columns("t")), "the column 't' is missing"),
    "has times as text": (
        columns("runs", lambda table: put(table, "t", table["t"].cast(pa.string()))),
        "the column 't' is missing, or of another type",
    ),
    "has pulls that are no lists": (
        columns("runs", lambda table: put(table, "pulls", table["t"])),
        "the column 'pulls' is missing, or of another type",
    ),
    "has times that are null": (
        columns("runs", lambda table: put(table, "t", pa.nulls(len(table), pa.int64()))),
        "values are missing",
    ),
    "has times from 0": (columns("runs", changed("t", first_as(0))), "the checkpoints are not those of the run"),
    "has times backwards": (columns("runs", changed("t", lambda t: t[::-1])), "the checkpoints are not those"),
    "has no rows": (columns("runs", lambda table: table.slice(0, 0)), "the checkpoints are not those of the run"),
    "recommends arm 9": (columns("runs", changed("recommended", first_as(9))), "an arm is recommended that does not"),
    "recommends arm -1": (columns("runs", changed("recommended", first_as(-1))), "an arm is recommended that does not"),
}

MATRICES = {
    "is missing": (gone("problems"), "no such file"),
    "is cut off": (cut("problems"), "not a preference matrix"),
    "is text": (content("problems", "a b c"), "not a row of numbers|not a preference matrix"),
    "is another one": (other_matrix([[0.5, 0.9, 0.9], [0.1, 0.5, 0.9], [0.1, 0.1, 0.5]]), "not the matrix of run"),
    "is smaller": (other_matrix([[0.5, 0.9], [0.1, 0.5]]), "not the matrix of run"),
}

MANIFESTS = {
    "is a list": ("[]", "not an object of JSON"),
    "is cut off": ('{"sha256": "ab', "not JSON"),
    "is deeply nested": (DEEP, "not JSON"),
    "has no digest": ("{}", "'sha256' is missing"),
    "has a number for a digest": ('{"sha256": 7}', "'sha256' is not what it should be"),
    "has another digest": ('{"sha256": "00"}', "not the one its manifest describes"),
}

FAILURES = {
    "is a list": "[]",
    "is cut off": '{"error": "Arith',
    "is deeply nested": DEEP,
    "says nothing": "{}",
    "says a number": '{"policy": "mdb", "problem": "m", "horizon": 2, "repetition": 0, "error": 1, "traceback": ""}',
}

SURROGATE = {
    "is a list": "[]",
    "is cut off": '{"name": "be',
    "is deeply nested": DEEP,
    "has no scale": '{"name": "a", "figure": {}}',
    "has a list for a figure": '{"name": "a", "figure": [], "scale": "quick", "sources": [], "runs": 1, "seconds": 1}',
}
WHOLE = '{"name": "a", "figure": {}, "scale": "quick", "sources": [], "runs": 1, "seconds": 1, "date": "2026-01-01"}'

CASES = [
    *(
        Case(f"{READERS[k % 3]}: a plan {name}", (READERS[k % 3], "store"), None, {"store": store(damage)}, PLAN)
        for k, (name, damage) in enumerate(PLANS.items())
    ),
    *(
        Case(f"merge: a plan {name}", ("merge", "store", "--out", "all"), None, {"store": store(PLANS[name])}, PLAN)
        for name in ("cut off", "of a list", "of another version")
    ),
    *(
        Case(f"results: a run that {name}", ("results", "store"), None, {"store": store(damage)}, f"{RUN}.*{why}")
        for name, (damage, why) in RUNS.items()
    ),
    Case("results: says how", ("results", "store"), None, {"store": store(flipped)}, REPAIR),
    *(
        Case(
            f"results: a matrix that {name}",
            ("results", "store"),
            None,
            {"store": store(damage)},
            f"problems/.*({why})",
        )
        for name, (damage, why) in MATRICES.items()
    ),
    *(
        Case(
            f"results: a manifest that {name}",
            ("results", "store"),
            None,
            {"store": store(content("runs", text, ".json"))},
            rf"store/runs/[0-9a-f]{{64}}\.\w+: .*{why}",
        )
        for name, (text, why) in MANIFESTS.items()
    ),
    *(
        Case(
            f"status: a failure that {name}",
            ("status", "store"),
            None,
            {"store": store(failure(text))},
            r"store/failed/[0-9a-f]{64}\.json: not the record of a failed run \(",
        )
        for name, text in FAILURES.items()
    ),
    *(
        Case(
            f"reproduce: a figure that {name}",
            ("reproduce", "claims", "--out", "made"),
            None,
            {"made/a/about.json": text, "made/a/data.parquet": b""},
            r"made/a/about\.json: damaged \(.*; remove it, and make the figure again",
        )
        for name, text in SURROGATE.items()
    ),
    Case(
        "reproduce: a table that is cut off",
        ("reproduce", "claims", "--out", "made"),
        None,
        {"made/a/about.json": WHOLE, "made/a/data.parquet": b"PAR1"},
        r"made/a/data\.parquet: damaged \(",
    ),
    *(
        Case(f"{word}: a {name}", (word, "store"), None, {"store": writer}, "no results of 'ltr-duel run' are here")
        for word in READERS
        for name, writer in (
            ("file in place of a store", "text"),
            ("empty folder", Path.mkdir),
            ("store without plans", store(lambda folder: shutil.rmtree(folder / "plans"))),
        )
    ),
    Case(
        "verify: a sample below 0",
        ("verify", "store", "--sample", "-1"),
        None,
        {"store": store()},
        "at least 0, not -1",
    ),
    Case("merge: no store", ("merge", "absent", "--out", "all"), None, {}, "absent: no results of 'ltr-duel run'"),
    Case(
        "run: into a folder of letters",
        ("run", "spec.toml", "--out", "letters"),
        None,
        {"spec.toml": SPEC, "letters/a.txt": "dear"},
        "letters: holds files that are not of an experiment",
    ),
    Case(
        "run: into a file",
        ("run", "spec.toml", "--out", "letter"),
        None,
        {"spec.toml": SPEC, "letter": "dear"},
        "letter",
    ),
    Case(
        "run: twice, where that is an error",
        ("run", "spec.toml", "--out", "store", "--on-existing", "error"),
        None,
        {"spec.toml": SPEC, "store": store()},
        "2 of the planned runs exist already",
    ),
    Case("read_status: no store", None, lambda: read_status("absent"), {}, "absent: no results"),
    Case("StudyResults: no store", None, lambda: StudyResults("absent"), {}, "absent: no results"),
    Case("verify_store: a sample below 0", None, lambda: verify_store("store", sample=-2), {"store": store()}, "-2"),
    Case(
        "merge_stores: a plan cut off",
        None,
        lambda: merge_stores("all", ["store"]),
        {"store": store(cut("plans"))},
        PLAN,
    ),
    Case(
        "StudyResults: a horizon that nobody ran",
        None,
        lambda: StudyResults("store").results("m", 21),
        {"store": store()},
        "no runs on 'm' with horizon 21",
    ),
    Case(
        "StudyResults: a problem that nobody ran",
        None,
        lambda: StudyResults("store").results("n"),
        {"store": store()},
        "no problem 'n'",
    ),
]
