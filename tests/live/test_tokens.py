"""A token is believed if a key of the experiment signed it as it stands, and else never."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ltr_duel.core import InputError
from ltr_duel.live import Keys, TokenError, read_keys
from ltr_duel.live.tokens import KEYS_VARIABLE, Claim

OLD, NEW = bytes(range(32)), bytes(range(1, 33))
HERE, THERE = bytes(16), bytes([1] * 16)
CLAIM = Claim(HERE, 7, 1_700_000_000_000)
TOKEN = Keys({"old": OLD}).sign(CLAIM)


def test_what_is_signed_is_read_again():
    assert Keys({"old": OLD}).verify(TOKEN, HERE) == CLAIM


def test_keys_are_changed_without_a_gap():
    both = Keys({"new": NEW, "old": OLD})
    assert both.verify(TOKEN, HERE) == CLAIM
    assert Keys({"new": NEW}).verify(both.sign(CLAIM), HERE) == CLAIM
    with pytest.raises(TokenError, match="not signed by a key"):
        Keys({"new": NEW}).verify(TOKEN, HERE)


def test_a_key_of_the_same_name_and_another_secret_is_not_believed():
    with pytest.raises(TokenError, match="not signed"):
        Keys({"old": NEW}).verify(TOKEN, HERE)


def test_a_token_of_another_experiment_is_not_believed():
    with pytest.raises(TokenError, match="another experiment"):
        Keys({"old": OLD}).verify(TOKEN, THERE)


def test_no_character_of_a_token_can_be_changed():
    keys = Keys({"old": OLD, "olc": NEW})
    for place in range(len(TOKEN)):
        for other in "Aa0_-.=é":
            if TOKEN[place] != other:
                with pytest.raises(TokenError):
                    keys.verify(TOKEN[:place] + other + TOKEN[place + 1 :], HERE)
    for length in range(len(TOKEN)):
        with pytest.raises(TokenError):
            keys.verify(TOKEN[:length], HERE)
    for longer in (TOKEN + "=", TOKEN + "A", " " + TOKEN, TOKEN + "\n"):
        with pytest.raises(TokenError):
            keys.verify(longer, HERE)


@given(st.one_of(st.text(), st.text("v1.old-_AQ", max_size=120), st.none(), st.integers(), st.binary()))
def test_anything_else_is_refused_in_one_sentence(token):
    with pytest.raises(TokenError):
        Keys({"old": OLD}).verify(token, HERE)


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
        (f"a {OLD.hex()}\na {NEW.hex()}\n", "keys:2: there is a key 'a' already"),
        ("a abcd\n", "must be at least 16 bytes"),
        (f"a.b {OLD.hex()}\n", "id of a key is 1 to 32 letters"),
        ("é\n", "is ASCII text"),
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
