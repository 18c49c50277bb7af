"""A token is accepted only if a key of the experiment signed exactly this text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ltr_duel.core import InputError
from ltr_duel.live import Keys, TokenError, UsedError, backup_store, read_keys
from ltr_duel.live.tokens import KEYS_VARIABLE, Claim
from tests.live.shop import RANKINGS, opened

OLD, NEW = bytes(range(32)), bytes(range(1, 33))
CLAIM = Claim(bytes(16), 7, 1_700_000_000_000)
TOKEN = Keys({"old": OLD}).sign(CLAIM)


def test_what_is_signed_is_read_again():
    assert Keys({"old": OLD}).verify(TOKEN) == CLAIM


def test_keys_are_changed_without_a_gap():
    both = Keys({"new": NEW, "old": OLD})
    assert both.verify(TOKEN) == CLAIM
    assert Keys({"new": NEW}).verify(both.sign(CLAIM)) == CLAIM
    with pytest.raises(TokenError, match="not signed by a key"):
        Keys({"new": NEW}).verify(TOKEN)


def test_a_key_of_the_same_name_and_another_secret_is_not_believed():
    with pytest.raises(TokenError, match="not signed"):
        Keys({"old": NEW}).verify(TOKEN)


def test_a_token_of_another_experiment_is_not_believed(tmp_path):
    (tmp_path / "other").mkdir()
    with opened(tmp_path / "other") as other:
        token = other.decide("q", RANKINGS).token
    with opened(tmp_path) as experiment:
        page = experiment.decide("q", RANKINGS)
        with pytest.raises(TokenError, match="another experiment"):
            experiment.record(token, [])
        assert experiment.record(page.token, []).page == 1


def copied(folder):
    """Copy a store that is closed."""
    (folder / "copy.db").write_bytes((folder / "shop.db").read_bytes())


@pytest.mark.parametrize("opening", ["the same", "another"])
def test_after_a_restore_a_token_of_a_lost_page_closes_no_other_page(tmp_path, opening):
    """The clock stands still, so page and deadline of both tokens are the same."""
    with opened(tmp_path) as experiment:
        kept = experiment.decide("q", RANKINGS)
        if opening == "the same":
            backup_store(tmp_path / "shop.db", tmp_path / "copy.db")
            lost = experiment.decide("mallory's", RANKINGS, user="mallory")
    if opening == "another":
        copied(tmp_path)
        with opened(tmp_path) as experiment:
            lost = experiment.decide("mallory's", RANKINGS, user="mallory")
    (tmp_path / "copy.db").replace(tmp_path / "shop.db")
    with opened(tmp_path) as experiment:
        with pytest.raises(TokenError):
            experiment.record(lost.token, [])
        page = experiment.decide("alice's", RANKINGS, user="alice")
        assert (page.page, page.expires) == (lost.page, lost.expires)
        with pytest.raises(TokenError, match="the restored store"):
            experiment.record(lost.token, lost.shown[:1])
        assert experiment.record(page.token, page.shown[:1]).page == 2
        assert experiment.record(kept.token, []).page == 1


def test_a_token_of_one_copy_of_a_store_closes_no_page_of_the_other(tmp_path):
    opened(tmp_path).close()
    (tmp_path / "staging").mkdir()
    (tmp_path / "staging" / "shop.db").write_bytes((tmp_path / "shop.db").read_bytes())
    with opened(tmp_path) as experiment, opened(tmp_path / "staging") as staging:
        page, other = (one.decide("q", RANKINGS) for one in (experiment, staging))
        with pytest.raises(TokenError, match="another experiment"):
            experiment.record(other.token, [])
        assert experiment.record(page.token, []).page == 1


def test_a_page_that_is_closed_is_known_after_later_openings(tmp_path):
    with opened(tmp_path) as experiment:
        pages = [experiment.decide("q", RANKINGS) for _ in range(2)]
        experiment.record(pages[0].token, [])
    for _ in range(3):
        with opened(tmp_path) as experiment:
            experiment.decide("q", RANKINGS)
    with opened(tmp_path) as experiment:
        with pytest.raises(UsedError):
            experiment.record(pages[0].token, [])
        assert experiment.record(pages[1].token, []).page == 2


def test_no_character_of_a_token_can_be_changed():
    keys = Keys({"old": OLD, "olc": NEW})
    for place in range(len(TOKEN)):
        for other in "Aa0_-.=é":
            if TOKEN[place] != other:
                with pytest.raises(TokenError):
                    keys.verify(TOKEN[:place] + other + TOKEN[place + 1 :])
    for length in range(len(TOKEN)):
        with pytest.raises(TokenError):
            keys.verify(TOKEN[:length])
    for longer in (TOKEN + "=", TOKEN + "A", " " + TOKEN, TOKEN + "\n"):
        with pytest.raises(TokenError):
            keys.verify(longer)


@given(st.one_of(st.text(), st.text("v1.old-_AQ", max_size=120), st.none(), st.integers(), st.binary()))
def test_anything_else_is_refused_in_one_sentence(token):
    with pytest.raises(TokenError):
        Keys({"old": OLD}).verify(token)


def test_keys_are_read_from_a_file_or_the_environment(tmp_path, monkeypatch):
    path = tmp_path / "keys"
    path.write_text(f"# of the shop\nnew {NEW.hex()}  # signs\n\nold {OLD.hex()}\n")
    assert list(read_keys(path).items()) == [("new", NEW), ("old", OLD)]
    monkeypatch.setenv(KEYS_VARIABLE, f"new:{NEW.hex()},old:{OLD.hex()}")
    assert list(read_keys().items()) == [("new", NEW), ("old", OLD)]
    monkeypatch.delenv(KEYS_VARIABLE)
    with pytest.raises(InputError, match=f"set {KEYS_VARIABLE}"):
        read_keys()


@pytest.mark.parametrize(
    "content, sentence",
    [
        ("", "1 to 100 keys"),
        ("old\n", "keys:1: a key is an id and a secret"),
        (f"a {OLD.hex()}\nold {OLD.hex()}0\n", "keys:2: a key is"),
        (f"a {OLD.hex()}\na {NEW.hex()}\n", "keys:2: key 'a' is defined twice"),
        ("a abcd\n", "must be at least 16 bytes"),
        (f"a.b {OLD.hex()}\n", "id of a key is 1 to 32 letters"),
        ("é\n", "must be ASCII text"),
        ("a" * 100_001, "at most 100,000"),
    ],
)
def test_a_file_of_keys_that_is_none_is_refused_without_a_secret(tmp_path, content, sentence):
    path = tmp_path / "keys"
    path.write_text(content)
    with pytest.raises(InputError, match=sentence) as found:
        read_keys(path)
    assert OLD.hex() not in str(found.value)
    with pytest.raises(InputError, match="cannot be read"):
        read_keys(tmp_path / "none")


def test_no_secret_is_shown():
    assert OLD.hex() not in repr(Keys({"old": OLD})) and repr(OLD) not in repr(Keys({"old": OLD}))
    assert Keys.random()["process"] != Keys.random()["process"]
