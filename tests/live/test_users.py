"""The hashes of users need the same key at each start; with another key, users would count again."""

import pytest

from ltr_duel.core import InputError
from tests.live.shop import RANKINGS, opened

ONE, OTHER = bytes(32), bytes(range(32))


@pytest.mark.parametrize("first, second", [(ONE, OTHER), (ONE, b""), (b"", ONE)])
def test_the_key_of_users_cannot_be_changed(tmp_path, first, second):
    with opened(tmp_path, user_key=first) as experiment:
        experiment.decide("q", RANKINGS, user="ann")
    with pytest.raises(InputError, match=r"shop.db: the users in this store .*, so each user would be counted again"):
        opened(tmp_path, user_key=second)
    with opened(tmp_path, user_key=first) as experiment:
        experiment.decide("q", RANKINGS, user="ann")
        assert experiment._store._db.execute("SELECT count(*) FROM users").fetchone() == (1,)


def test_a_store_without_users_takes_another_key(tmp_path):
    with opened(tmp_path, user_key=ONE) as experiment:
        experiment.decide("q", RANKINGS)
    opened(tmp_path, user_key=OTHER).close()


def test_a_store_of_hashes_that_is_opened_without_its_key_is_for_looking(tmp_path):
    with opened(tmp_path, user_key=ONE) as experiment:
        experiment.decide("q", RANKINGS, user="ann")
    with opened(tmp_path) as experiment:
        assert experiment.state().pages == 1
        with pytest.raises(InputError, match="hashed: open it with their key"):
            experiment.decide("q", RANKINGS, user="ann")
        assert experiment.decide("q", RANKINGS).page == 2


def test_the_store_holds_no_key(tmp_path):
    with opened(tmp_path, user_key=OTHER) as experiment:
        experiment.decide("q", RANKINGS, user="ann")
    content = b"".join(one.read_bytes() for one in tmp_path.iterdir())
    assert OTHER not in content and OTHER.hex().encode() not in content and b"ann" not in content
