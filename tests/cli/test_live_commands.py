"""``ltr-duel live export``, and what it says of a file that is no store."""

from tests.live.shop import opened
from tests.live.test_experiment import use


def test_export_writes_a_log_that_compare_reads(ltr_duel, tmp_path):
    with opened(tmp_path) as experiment:
        use(experiment, 60)
        rows = experiment.state().compared
        log = tmp_path / "log.jsonl"
        answer = ltr_duel("live", "export", tmp_path / "shop.db", "--out", log)  # while it goes on
    assert answer.code == 0 and answer.out == f"{log}: {rows:,} impressions\n"
    assert f"{rows:,} impressions" in ltr_duel("logs", "compare", log, "--cluster", "impression").out


def test_a_file_that_is_no_store_is_refused(ltr_duel, tmp_path):
    (tmp_path / "shop.db").write_text("no store")
    answer = ltr_duel("live", "export", tmp_path / "shop.db", "--out", tmp_path / "log.jsonl")
    assert answer.code == 2 and "shop.db: is no store of a live experiment" in answer.err
    assert not (tmp_path / "log.jsonl").exists()
