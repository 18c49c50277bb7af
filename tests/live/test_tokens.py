"""A token lets its holder report the events of one page of one experiment, and nothing else."""

import random

import pytest

from ltr_duel.core import InputError
from ltr_duel.live import Experiment, Keys, TokenError, backup_store
from tests.live.shop import LISTS, click, opened, settings

CHARACTERS = "0123456789abcdefghijklmnopqrstuvwxyzABCDEF.-_ é"


def forged(token, others, rng):
    """Return a token that was changed in one of several ways."""
    name, impression, mac = token.split(".")
    other = rng.choice(others).split(".")
    place = rng.randrange(len(token))
    return rng.choice([
        token[:place] + rng.choice(CHARACTERS.replace(token[place], "")) + token[place + 1 :],
        token[:place] + token[place + 1 :],
        token[:place] + rng.choice(CHARACTERS) + token[place:],
        f"{name}.{other[1]}.{mac}",
        f"{name}.{impression}.{other[2]}",
        f"two.{impression}.{mac}",
        f"{name}.{impression}.{rng.randbytes(16).hex()}",
        f"{name}.{impression}.{mac.upper()}" if mac.upper() != mac else token + mac,
        f"{name}..{mac}", f"{impression}.{mac}", token * 2, token + "\n", " " + token, "",
    ])  # fmt: skip


def test_no_forged_token_is_accepted(tmp_path):
    rng = random.Random(1)
    with opened(tmp_path) as experiment:
        tokens = [experiment.decide(f"user {k}", "q", LISTS).token for k in range(20)]
        genuine, wrong = set(tokens), 0
        while wrong < 4000:
            token = rng.choice(tokens)
            change = forged(token, [other for other in tokens if other != token], rng)
            if change in genuine:
                continue
            with pytest.raises(TokenError):
                experiment.report(change, [{"kind": "view"}])
            wrong += 1
        for token in (None, 7, b"x", ["a"]):
            with pytest.raises(TokenError):
                experiment.report(token, [{"kind": "view"}])
        assert experiment._store.rows("SELECT count(*) FROM events") == [(0,)]
        for token in tokens:
            experiment.report(token, [{"kind": "view"}])
        assert experiment._store.rows("SELECT count(*) FROM events") == [(20,)]


def test_tokens_outlive_the_process_and_old_keys_verify_after_a_change(tmp_path):
    old, new = bytes(range(32)), bytes(range(1, 33))
    with opened(tmp_path, keys=Keys({"old": old})) as experiment:
        page = experiment.decide("user", "q", LISTS)
    with opened(tmp_path, keys=Keys({"new": new, "old": old})) as experiment:
        assert experiment.report(*click(page)) == page.impression
        assert experiment.decide("user", "q", LISTS).token.startswith("new.")
    with opened(tmp_path, keys=Keys({"new": new})) as experiment, pytest.raises(TokenError):
        experiment.report(*click(page))


def test_a_token_of_another_experiment_with_the_same_key_is_refused(tmp_path):
    (tmp_path / "one").mkdir()
    (tmp_path / "two").mkdir()
    with opened(tmp_path / "one") as one, opened(tmp_path / "two", settings(seed=1)) as two:
        page = one.decide("user", "q", LISTS)
        two.decide("user", "q", LISTS)
        with pytest.raises(TokenError, match="not in the store"):
            two.report(*click(page))


def test_after_a_restore_a_token_counts_only_for_the_page_it_was_made_for(tmp_path):
    with opened(tmp_path) as experiment:
        early = experiment.decide("early", "q", LISTS)
        backup_store(tmp_path / "shop.db", tmp_path / "backup.db")
        late = experiment.decide("late", "q", LISTS)
    keys = Keys({"one": bytes(range(32))})
    with Experiment.open(tmp_path / "backup.db", keys=keys) as restored:
        restored.report(*click(early))
        with pytest.raises(TokenError):
            restored.report(*click(late))
        other = restored.decide("late", "q", {name: ids[::-1] for name, ids in LISTS.items()})
        with pytest.raises(TokenError):
            restored.report(*click(late))  # the page that this user has now has other documents
        restored.report(*click(other))
        assert restored.decide("late", "q", LISTS).token == late.token
        restored.report(*click(late))


@pytest.mark.parametrize(
    "events, said",
    [
        ("view", "a list"),
        ([{"kind": "View"}], "'kind'"),
        ([{}], "'kind'"),
        (["view"], "an object"),
        ([{"kind": "click", "document": "nothing"}], "not on the page"),
        ([{"kind": "click", "place": 1}], "no key 'place'"),
        ([{"kind": "sale", "value": float("nan")}], "'value'"),
        ([{"kind": "sale", "value": True}], "'value'"),
        ([{"kind": "sale", "value": 1e300}], "'value'"),
        ([{"kind": "sale", "id": "x" * 101}], "'id'"),
        ([{"kind": "sale", "id": "\ud800"}], "Unicode"),
        ([{"kind": f"k{k}"} for k in range(201)], "at most 200"),
    ],
)
def test_an_invalid_report_is_refused_as_a_whole(tmp_path, events, said):
    with opened(tmp_path) as experiment:
        page = experiment.decide("user", "q", LISTS)
        with pytest.raises(InputError, match=said):
            experiment.report(page.token, [{"kind": "view"}, *events] if isinstance(events, list) else events)
        assert experiment._store.rows("SELECT count(*), sum(seen) FROM events, exposures") == [(0, None)]


def test_a_page_keeps_a_limited_number_of_events(tmp_path):
    with opened(tmp_path) as experiment:
        page = experiment.decide("user", "q", LISTS)
        for k in range(5):
            experiment.report(page.token, [{"kind": "hover", "id": f"{k} {m}"} for m in range(200)])
        experiment.report(page.token, [{"kind": "hover", "id": f"0 {m}"} for m in range(200)])  # once more
        with pytest.raises(InputError, match="at most 1,000 events"):
            experiment.report(page.token, [{"kind": "view"}])
