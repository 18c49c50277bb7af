"""Logs in other engines: the same integers as from files, and the commands of the pages about engines."""

from __future__ import annotations

import re
import shlex
import shutil
import sys

import duckdb
import pytest
from click.testing import CliRunner

from ltr_duel.cli.main import cli
from ltr_duel.core import InputError
from ltr_duel.logs import ClickLog, check_log, compare_log, describe_log
from ltr_duel.logs.outcomes import credited
from ltr_duel.logs.sums import Grouping, pair_sums
from tests.logs.tables import event, exposure, impression, random_tables, write
from tests.site.snippets import DOCS

pytestmark = pytest.mark.filterwarnings("default")  # warnings of Ibis's DuckDB backend


def files(folder, exposures, events):
    return {
        name: write(folder / f"{name}.parquet", rows) for name, rows in (("exposures", exposures), ("events", events))
    }


def shop(folder, exposures, events, name="shop"):
    """Return the arguments of a log in the tables of a DuckDB file."""
    with duckdb.connect(str(folder / f"{name}.duckdb")) as database:
        for table, path in files(folder, exposures, events).items():
            database.execute(f"CREATE TABLE {table} AS SELECT * FROM '{path}'")
    url = f"duckdb://{folder / f'{name}.duckdb'}?read_only=True"
    return {"path": "exposures", "events": "events", "connect": url}


def numbers(log, cluster):
    """Return all whole numbers of all pairs by name."""
    found = credited(log)
    facts = found.facts
    grouping = Grouping(len(found.creditor.pairs), cluster, facts["named"] == facts["n"])
    sums, *_ = pair_sums(log.engine, found.outcomes, grouping)
    clusters = sums.clusters and [part.tolist() for part in sums.clusters]
    whole = [sums.wins.tolist(), sums.losses.tolist(), sums.ties.tolist(), [s.tolist() for s in sums.sequences]]
    return found.creditor.names, found.creditor.pairs, whole, clusters, facts


def assert_same_numbers(folder, settings, clusters, within="1m"):
    paths = files(folder, *random_tables())
    for cluster in clusters:
        here = numbers(ClickLog(paths["exposures"], events=paths["events"], within=within), cluster)
        assert sum(here[2][0]) > 100
        assert numbers(ClickLog(**settings, within=within), cluster) == here


def test_a_duckdb_file_gives_the_same_integers_also_by_a_mapping(tmp_path):
    settings = shop(tmp_path, *random_tables())
    assert_same_numbers(tmp_path, settings, ("user",))
    names = {"exposures": ("impression", "time", "user", "query", "shown", "rankers", "owners")}
    names["events"] = ("impression", "user", "item", "kind", "time")
    lines = [f"[{table}]\n" + "".join(f"{name} = '\"{name}\"'\n" for name in names[table]) for table in names]
    (tmp_path / "m.toml").write_text("\n".join(lines))
    assert_same_numbers(tmp_path, settings | {"source": tmp_path / "m.toml"}, ("user",))


def test_postgres_gives_the_same_integers(tmp_path, postgres):
    url, psycopg = postgres
    exposures, events = random_tables()
    with psycopg.connect(url) as db:
        db.execute(
            'CREATE TABLE exposures (impression text, time float8, "user" text, query text, shown text[],'
            " rankers text[], owners int[])"
        )
        db.execute(
            'CREATE TABLE events (impression text, "user" text, item text, kind text, time float8, value float8,'
            " dwell float8)"
        )
        for name, rows in (("exposures", exposures), ("events", events)):
            marks = ", ".join(["%s"] * len(rows[0]))
            db.cursor().executemany(f"INSERT INTO {name} VALUES ({marks})", [list(row.values()) for row in rows])
    settings = {"path": "exposures", "events": "events", "connect": url}
    assert_same_numbers(tmp_path, settings, ("user", "query", "impression"))
    findings = {finding.name: finding.verdict for finding in check_log(ClickLog(**settings, within="1m"))}
    assert findings["clicks"] == findings["events outside lists"] == "sound"
    assert describe_log(ClickLog(**settings)).impressions == 1500


def test_spark_gives_the_same_integers(tmp_path):
    pytest.importorskip("pyspark", reason="pyspark is not installed")
    if not shutil.which("java"):
        pytest.skip("no Java on this machine")
    import ibis
    from pyspark.sql import SparkSession

    session = (
        SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
        .config("spark.sql.shuffle.partitions", "2").config("spark.sql.session.timeZone", "UTC").getOrCreate()
    )  # fmt: skip
    try:
        for name, path in files(tmp_path, *random_tables()).items():
            session.read.parquet(str(path)).createOrReplaceTempView(name)
        settings = {"path": "exposures", "events": "events", "connect": ibis.pyspark.connect(session)}
        assert_same_numbers(tmp_path, settings, ("user",))
    finally:
        session.stop()


@pytest.mark.parametrize(("owner", "losses"), [("", 0), ("nobody", None)])
def test_a_connection_may_name_the_owners(tmp_path, owner, losses):
    row = exposure(1, shown=["a", "b"], owners=["old", owner])
    log = ClickLog(**shop(tmp_path, [row], [event("i1", "b")]))
    if losses is None:
        with pytest.raises(InputError, match="exposures, impression 'i1': owner of an item is not a ranker"):
            compare_log(log)
    else:
        found = compare_log(log)
        assert (found.wins[0], found.losses[0]) == (0, losses) and found.names == ("old", "new")


def test_owners_of_events_and_missing_columns_are_named_in_a_connection_too(tmp_path):
    shown = [{"impression": f"i{n}", "time": n, "query": "q", "rankers": ["old", "new"]} for n in range(2)]
    seen = [{"impression": f"i{n}", "item": "a", "owner": owner} for n, owner in enumerate(("new", "nwe"))]
    says = r"impression 'i1': owner 'nwe' of an event is not a ranker: old or new, null for none \(1 bad line; --skip-"
    with pytest.raises(InputError, match=says):
        compare_log(ClickLog(**shop(tmp_path, shown, seen)))
    lacks = [{"impression": "i0", "query": "q"}]
    with pytest.raises(InputError, match=r"^exposures has no column 'time' \(it has impression, query\): rename"):
        compare_log(ClickLog(**shop(tmp_path, lacks, seen, "other")))


def test_without_ibis_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "ibis", None)
    with pytest.raises(InputError, match=r"pip install 'ltr-duel\[warehouse\]'"):
        compare_log(ClickLog("exposures", events="events", connect="postgres://somewhere/shop"))


def section(name):
    """Return a section of the page about engines."""
    return re.split(r"\n###? ", (DOCS / "log_formats.md").read_text().partition(f"\n### {name}\n")[2])[0]


def test_every_command_of_the_page_on_duckdb_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    exposures, events = random_tables(200)
    shop(tmp_path, exposures, events)
    rows = [impression(n, user=f"u{n % 9}") for n in range(40)]
    write(tmp_path / "exposures/day1.parquet", exposures)
    write(tmp_path / "events/day1.csv", events)
    write(tmp_path / "clicks.parquet", rows)
    write(tmp_path / "clicks/day1.parquet", rows)
    sections = {"exposures": exposures[0], "events": events[0]}
    (tmp_path / "mapping.toml").write_text(
        "".join(f"[{name}]\n" + "".join(f"{key} = '\"{key}\"'\n" for key in row) for name, row in sections.items())
    )
    page = section("DuckDB")
    commands = re.findall(r"^ltr-duel (logs .*?)(?:  +#.*)?$", page, re.M)
    (options,) = re.findall(r"`(--connect .*?)`", page)
    commands.append(f"logs compare {options}".replace("/path/", f"{tmp_path}/"))
    assert len(commands) >= 5
    for command in commands:
        found = CliRunner().invoke(cli, shlex.split(command))
        assert found.exit_code == 0, f"{command}\n{found.output}"
