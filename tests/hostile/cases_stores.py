"""Stores of experiments, and folders of figures, that are forged, cut off, or of another version."""

from __future__ import annotations

import functools
import hashlib
import json
import os
import shutil
import struct
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from ltr_duel.experiment import (
    StudyResults,
    make_plan,
    read_spec,
    read_status,
    run_experiment,
    runs_file,
    verify_store,
)
from ltr_duel.experiment.store import Store
from ltr_duel.preferences import PreferenceMatrix, save_preferences
from tests.hostile.case import Case

SPEC = """
policies = "mdb"
horizon = 20
repetitions = 2
matrices = [{ name = "m", answers = "independent_coins", p = [[0.5, 0.6, 0.7], [0.4, 0.5, 0.6], [0.3, 0.4, 0.5]] }]
"""
DEEP = "[" * 100_000 + "]" * 100_000


@functools.cache
def sound() -> Path:
    """Return a store of two runs."""
    folder = Path(tempfile.mkdtemp(prefix="ltr-duel-store-")) / "store"
    run_experiment(make_plan(read_spec("spec.toml", SPEC), jobs=1), folder)
    return folder


def store(*damages):
    """Return a function that copies the store to a path and damages the copy."""

    def write(path):
        shutil.copytree(sound(), path)
        for damage in damages:
            damage(path)

    return write


def one(folder, kind, suffix=".parquet"):
    return sorted((folder / kind).glob(f"*{suffix}"))[0]


def content(kind, data, suffix=".parquet"):
    """Replace a file by the given text or bytes."""
    raw = data if isinstance(data, bytes) else data.encode()
    return lambda folder: one(folder, kind, suffix).write_bytes(raw)


def cut(kind, to=-40, suffix=".parquet"):
    def damage(folder):
        path = one(folder, kind, suffix)
        path.write_bytes(path.read_bytes()[:to])

    return damage


def gone(kind, suffix=".parquet"):
    return lambda folder: one(folder, kind, suffix).unlink()


def about(kind, change):
    """Change the JSON in a Parquet file's metadata, by a function or to the given object."""

    def damage(folder):
        path = one(folder, kind)
        table = pq.read_table(path)
        old = json.loads(table.schema.metadata[b"ltr_duel"])
        new = change(old) if callable(change) else change
        text = new if isinstance(new, str) else json.dumps(new)
        checksum = hashlib.sha256(text.encode()).hexdigest()
        pq.write_table(table.replace_schema_metadata({"ltr_duel": text, "ltr_duel.sha256": checksum}), path)

    return damage


def columns(kind, change):
    """Change the table of a Parquet file."""

    def damage(folder):
        path = one(folder, kind)
        table = pq.read_table(path)
        pq.write_table(change(table).replace_schema_metadata(table.schema.metadata), path)

    return damage


def stripped(kind):
    """Remove the metadata."""

    def damage(folder):
        path = one(folder, kind)
        pq.write_table(pq.read_table(path).replace_schema_metadata({}), path)

    return damage


def put(table, name, values):
    return table.set_column(table.schema.get_field_index(name), name, values)


def forged(**change):
    """Write the first run again with a matching checksum: other values, or functions of the values in its columns."""

    def damage(folder):
        store = Store(folder)
        index = store.scan()
        ((_, rows),) = index.batches([min(index.done)])
        row = runs_file.Row(**rows.to_pylist()[0])
        new = {name: one(getattr(row, name)) if callable(one) else one for name, one in change.items()}
        store.append("f" * 32 + ".arrows", runs_file.encode_rows([row._replace(generation=1, **new)]))

    return damage


def resealed(change):
    """Change the bytes of the first batch, with a matching checksum."""

    def damage(folder):
        path, place = one(folder, "runs", ".arrows"), min(Store(folder).scan().done.values())
        data = path.read_bytes()
        raw = bytearray(data[place.offset : place.offset + place.size])
        change(raw)
        at = raw.index(runs_file._MARK) + len(runs_file._MARK)
        raw[at : at + 64] = b"0" * 64
        raw[at : at + 64] = hashlib.sha256(raw).hexdigest().encode()
        path.write_bytes(data[: place.offset] + raw + data[place.offset + place.size :])

    return damage


def claims_to_be_huge(raw):
    struct.pack_into("<q", raw, 8 + struct.unpack_from("<i", raw, 4)[0], 2**45)


def without_root(raw):
    raw[8:12] = b"\xff" * 4


def first_step(value):
    def function(steps):
        return [value, *steps[1:]]

    return function


def of_row(number, value):
    """Change the first entry of a row of steps: 0 is t, 1 is the recommended arm."""

    def function(steps):
        at = number * (len(steps) // 12)
        return [*steps[:at], value, *steps[at + 1 :]]

    return function


def two_arms(steps):
    return steps[: 9 * (len(steps) // 12)]


def of_key(key):
    """Change the keys of the runs in a plan."""
    return about("plans", lambda plan: plan | {"key": plan["key"] | key})


def flipped(folder):
    path = one(folder, "runs", ".arrows")
    data = bytearray(path.read_bytes())
    data[-40] ^= 1
    path.write_bytes(bytes(data))


def beheaded(folder):
    path = one(folder, "runs", ".arrows")
    path.write_bytes(b"oops" + path.read_bytes()[4:])


def other_matrix(p):
    return lambda folder: save_preferences(PreferenceMatrix(np.array(p)), one(folder, "problems"))


def failure(text):
    """Cut off the last run, and mark it as failed."""

    def damage(folder):
        path, before = one(folder, "runs", ".arrows"), Store(folder).scan().done
        path.write_bytes(path.read_bytes()[:-1])
        digest = min(before.keys() - Store(folder).scan().done.keys())
        (folder / "failed" / f"{digest}.json").write_text(text)

    return damage


def folder_instead(kind, suffix=".parquet"):
    def damage(folder):
        path = one(folder, kind, suffix)
        path.unlink()
        path.mkdir()

    return damage


def pipe_instead(kind, suffix=".parquet"):
    def damage(folder):
        path = one(folder, kind, suffix)
        path.unlink()
        os.mkfifo(path)

    return damage


def link_to_nothing(folder):
    (folder / "runs" / f"{'0' * 32}.arrows").symlink_to("nowhere")


def problems(change):
    """Change the first problem that the plan names."""

    def damage(plan):
        plan["problems"][0] = change(plan["problems"][0])
        return plan

    return about("plans", damage)


PLAN = r"store/plans/[0-9a-f]{64}\.parquet: damaged, or not a plan \(.*'ltr-duel run'.* writes it again"
RUN = r"store/runs/[0-9a-f]{32}\.arrows: run [0-9a-f]{64}: damaged: "
REPAIR = r"'ltr-duel verify --repair store' repairs it"

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
    "with a policy that is a list": about("plans", lambda plan: plan | {"policies": {"mdb": []}}),
    "with no policy": about("plans", lambda plan: plan | {"policies": {}}),
    "with a key of words": about("plans", lambda plan: plan | {"key": plan["key"] | {"seed": "20"}}),
    "with a key of more": about("plans", lambda plan: plan | {"key": plan["key"] | {"and": "20"}}),
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
    "that is a pipe": pipe_instead("plans"),
}
READERS = ("status", "results", "verify")

RUNS = {
    "has no checkpoints": (forged(checkpoints=0), "it is not a run of this program"),
    "has fewer checkpoints than none": (forged(checkpoints=-3), "it is not a run of this program"),
    "has one checkpoint too many": (forged(checkpoints=lambda count: count + 1), "it is not a run of this program"),
    "has no steps": (forged(steps=[]), "it is not a run of this program"),
    "has no arms": (forged(steps=lambda steps: steps[: len(steps) // 4]), "it is not a run of this program"),
    "has two arms": (
        forged(steps=lambda steps: steps[: 9 * (len(steps) // 12)], exposure=None),
        "it has 2 arms, but its matrix has 3",
    ),
    "has exposures of other arms": (forged(exposure=[0.5]), "it is not a run of this program"),
    "is another repetition": (forged(repetition=9), "it belongs to another run"),
    "has times from 0": (forged(steps=first_step(0)), "its checkpoints do not match its horizon"),
    "has times backwards": (forged(steps=first_step(-5)), "its checkpoints do not match its horizon"),
    "ends too late": (forged(steps=first_step(2)), "its checkpoints do not match its horizon"),
    "has times beyond all numbers": (forged(steps=first_step(2**63 - 1)), "its checkpoints do not match its horizon"),
    "recommends arm 9": (forged(steps=of_row(1, 9)), "it recommends an arm that does not exist"),
    "recommends arm -1": (forged(steps=of_row(1, -1)), "it recommends an arm that does not exist"),
    "has another seed": (of_key({"seed": 1}), "it belongs to another run"),
    "is in another batch": (of_key({"batch": 7}), "it belongs to another run"),
}

FILES = {
    "begins with other bytes": (beheaded, r"\.arrows: damaged: bytes 0 to [\d,]+ are not runs; .*verify --repair"),
    "has another byte": (flipped, r"\.arrows: damaged: bytes [\d,]+ to [\d,]+ are not runs; .*verify --repair"),
    "claims to expand to 35 TB": (
        resealed(claims_to_be_huge),
        r"not enough memory \(.*\.arrows: a batch of runs needs [\d,.]+ GB of memory",
    ),
    "has metadata without a root": (resealed(without_root), r"\.arrows: damaged: bytes [\d,]+ to [\d,]+ are not runs"),
    "is text": (content("runs", "a text " * 20, ".arrows"), r"\.arrows: damaged: bytes 0 to 140 are not runs"),
    "is a folder": (folder_instead("runs", ".arrows"), r"\.arrows: cannot be read: not an ordinary file"),
    "is a link to nothing": (
        link_to_nothing,
        r"0{32}\.arrows: cannot be read: No such file or directory; .*verify --repair",
    ),
    "is empty": (content("runs", b"", ".arrows"), "no run is done yet"),
    "is cut off in its first run": (cut("runs", 2000, ".arrows"), "no run is done yet"),
}

MATRICES = {
    "is missing": (gone("problems"), "missing, or not an ordinary file; 'ltr-duel verify --repair store' repairs it"),
    "is cut off": (cut("problems"), "not a preference matrix"),
    "is text": (content("problems", "a b c"), "not a row of numbers|not a preference matrix"),
    "is another one": (other_matrix([[0.5, 0.9, 0.9], [0.1, 0.5, 0.9], [0.1, 0.1, 0.5]]), "not the matrix of run"),
    "is smaller": (other_matrix([[0.5, 0.9], [0.1, 0.5]]), "not the matrix of run"),
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
        Case(f"results: a run that {name}", ("results", "store"), None, {"store": store(damage)}, f"{RUN}.*{why}")
        for name, (damage, why) in RUNS.items()
    ),
    Case(
        "results: no plan",
        ("results", "store"),
        None,
        {"store": store(gone("plans"))},
        "store: contains no plan; .*run",
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
        Case(f"results: a file of runs that {name}", ("results", "store"), None, {"store": store(damage)}, why)
        for name, (damage, why) in FILES.items()
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
            r"made/a/about\.json: damaged \(.*; remove the file, and reproduce the figure again",
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
        Case(f"{word}: a {name}", (word, "store"), None, {"store": writer}, "contains no results of 'ltr-duel run'")
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
    Case(
        "run: into a folder of letters",
        ("run", "spec.toml", "--out", "letters"),
        None,
        {"spec.toml": SPEC, "letters/a.txt": "dear"},
        "letters: contains files that do not belong to an experiment",
    ),
    Case(
        "run: into a file",
        ("run", "spec.toml", "--out", "letter"),
        None,
        {"spec.toml": SPEC, "letter": "dear"},
        "letter",
    ),
    Case("read_status: no store", None, lambda: read_status("absent"), {}, "absent: contains no results"),
    Case("StudyResults: no store", None, lambda: StudyResults("absent"), {}, "absent: contains no results"),
    Case("verify_store: a sample below 0", None, lambda: verify_store("store", sample=-2), {"store": store()}, "-2"),
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
