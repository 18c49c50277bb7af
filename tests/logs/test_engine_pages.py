"""The statements of pages and commands about the engine in the process, and about logs of search records."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys

import duckdb
import pandas as pd
import pytest
from click.testing import CliRunner

from ltr_duel.cli.main import cli
from ltr_duel.logs import LOG_COLUMNS, ClickLog, compare_log, write_log
from tests.logs.test_places import impression, write
from tests.logs.test_sources import tables
from tests.site.snippets import DOCS


@pytest.mark.filterwarnings("default")  # Ibis's DuckDB backend warns about its own calls
def test_every_command_of_the_page_on_duckdb_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    exposures, events = tables(200)
    for path in ("exposures.parquet", "exposures/day1.parquet"):
        write(tmp_path / path, exposures)
    write(tmp_path / "events.parquet", events)
    (tmp_path / "events").mkdir()
    pd.DataFrame(events).to_csv("events/day1.csv", index=False)
    with duckdb.connect("shop.duckdb") as shop:
        for name in ("exposures", "events"):
            shop.execute(f"CREATE TABLE {name} AS SELECT * FROM '{name}.parquet'")
    rows = [impression(n, user=f"u{n % 9}") for n in range(40)]
    for path in ("clicks.parquet", "clicks/day1.parquet"):
        write(tmp_path / path, rows)
    sections = {"exposures": exposures[0], "events": events[0]}
    (tmp_path / "mapping.toml").write_text(
        "".join(f"[{name}]\n" + "".join(f"{key} = '\"{key}\"'\n" for key in row) for name, row in sections.items())
    )
    page = (DOCS / "engines" / "duckdb.md").read_text()
    commands = re.findall(r"^ltr-duel (logs .*?)(?:  +#.*)?$", page, re.M)
    (options,) = re.findall(r"`(--connect .*?)`", page)
    commands.append(f"logs compare {options}".replace("/path/", f"{tmp_path}/"))
    assert len(commands) >= 5
    for command in commands:
        found = CliRunner().invoke(cli, shlex.split(command))
        assert found.exit_code == 0, f"{command}\n{found.output}"


def test_every_command_of_the_page_on_postgres_runs_on_the_tables_of_the_page(postgres):
    url, psycopg = postgres
    exposures, events = tables(200)
    exposures = [{**row, "query": f"q{n}"} for n, row in enumerate(exposures)]  # no user searches twice in a second
    page = (DOCS / "engines" / "postgres.md").read_text()
    (made,) = re.findall(r"```sql\n(.*?)```", page, re.S)
    with psycopg.connect(url, autocommit=True) as db:
        db.execute("CREATE DATABASE shop")
    url = f"{url.rpartition('/')[0]}/shop"
    with psycopg.connect(url) as db:
        db.execute(made)
        for name, rows in (("exposures", exposures), ("events", events)):
            columns, marks = ", ".join(map('"{}"'.format, rows[0])), ", ".join(["%s"] * len(rows[0]))
            for row in rows:
                db.execute(f"INSERT INTO {name} ({columns}) VALUES ({marks})", list(row.values()))
    commands = re.findall(r"^ltr-duel (logs .*)$", page, re.M)
    assert len(commands) == 2
    for command in commands:
        words = [url if word.startswith("postgres://") else word for word in shlex.split(command)]
        found = CliRunner().invoke(cli, words)
        assert found.exit_code == 0, f"{command}\n{found.output}"


@pytest.mark.filterwarnings("default")
def test_the_example_of_the_page_on_spark_runs(tmp_path, monkeypatch):
    pytest.importorskip("pyspark", reason="pyspark is not installed")
    if not shutil.which("java"):
        pytest.skip("no Java on this machine")
    monkeypatch.chdir(tmp_path)
    exposures, events = tables(100)
    write(tmp_path / "exposures.parquet", exposures)
    write(tmp_path / "events.parquet", events)
    (example,) = re.findall(r"```python\n(.*?)```", (DOCS / "engines" / "spark.md").read_text(), re.S)
    # Java keeps the folder in which it started, so a separate process is used.
    found = subprocess.run([sys.executable, "-c", example], capture_output=True, text=True, check=True)
    here = compare_log(ClickLog("exposures.parquet", events="events.parquet", within="7d"))
    assert found.stdout == f"{here.wins}\n"


def test_a_long_query_draws_no_progress_on_standard_output():
    text = "from ltr_duel.logs.engine import Engine; e = Engine(ValueError);"
    text += """print(e.rows("SELECT current_setting('enable_progress_bar') AS bar"))"""
    assert subprocess.check_output([sys.executable, "-c", text], text=True) == "[{'bar': False}]\n"


@pytest.mark.parametrize("kind", ["parquet", "csv", "jsonl"])
def test_times_without_a_zone_are_utc_on_every_machine(tmp_path, monkeypatch, kind):
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    log = ClickLog(write(tmp_path / f"clicks.{kind}", [impression(0, time="1970-01-01T00:01:00")]))
    assert [batch.table["time"].to_pylist() for batch in log.batches()] == [[60.0]]


@pytest.mark.parametrize("form", ["owners", "rankings"])
def test_a_log_written_as_search_records_leads_to_the_same_comparison(tmp_path, form):
    rankings = {"method": "balanced", "rankings": [["a", "b"], ["b", "a"]]}
    rows = [
        impression(
            n, user=f"u{n % 7}", time=1e9 + n, clicks=[1, 2][: n % 3], **(rankings if form == "rankings" else {})
        )
        for n in range(60)
    ]
    if form == "rankings":
        rows = [{name: value for name, value in row.items() if name != "owners"} for row in rows]
    columns = tuple(name for name in LOG_COLUMNS if name in rows[0])
    found = []
    for name, settings in (("clicks.parquet", {}), ("records.ndjson", {"format": "ubi"})):
        with write_log(tmp_path / name, columns) as log:
            log.write({name: [row[name] for row in rows] for name in columns})
        found.append(compare_log(ClickLog(tmp_path / name, **settings)))
    own, records = found
    assert (own.wins[0], own.losses[0], own.impressions) == (records.wins[0], records.losses[0], 60)
    assert own.wins[0] + own.losses[0] > 10 and own.low.tolist() == records.low.tolist()
