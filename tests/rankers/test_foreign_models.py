"""Untrusted model files: files that would loop for ever, crash or exhaust memory are rejected with one sentence."""

import json
import re

import numpy as np
import pytest

from ltr_duel.core import InputError
from ltr_duel.data import make_corpus
from ltr_duel.rankers.sources import RANKER_KINDS
from ltr_duel.rankers.trees import require_tree

lightgbm = pytest.importorskip("lightgbm")
xgboost = pytest.importorskip("xgboost")


@pytest.fixture(scope="module")
def corpus():
    return make_corpus(queries=10, documents=30, features=3)


def refused(corpus, kind, path, sentence="not an?"):
    with pytest.raises(InputError, match=sentence) as found:
        RANKER_KINDS[kind].open(corpus, str(path))
    assert str(path) in str(found.value) and "\n" not in str(found.value)


LIGHTGBM = [
    ("left_child", "0 0 0"),
    ("left_child", "1 2 0"),
    ("right_child", "1 1 1"),
    ("left_child", "100000000 2 -1"),
    ("right_child", "-1 -2 -100000000"),
    ("split_feature", "99999999 0 0"),
    ("split_feature", "-1 0 0"),
    ("split_feature", "0 0"),
    ("decision_type", "1 1 1"),
    ("threshold", "0.5 0.5"),
    ("num_leaves", "1000000000"),
    ("num_leaves", "1"),
    ("num_cat", "7"),
    ("leaf_value", "0.5"),
    ("is_linear", "1"),
]


@pytest.mark.parametrize("key, value", LIGHTGBM)
def test_a_lightgbm_model_that_is_no_tree_is_refused(corpus, tmp_path, key, value):
    data = lightgbm.Dataset(corpus.features, corpus.relevance)
    lightgbm.train({"num_leaves": 4, "verbose": -1, "min_data_in_leaf": 2}, data, 2).save_model(tmp_path / "good.txt")
    text = (tmp_path / "good.txt").read_text()
    RANKER_KINDS["lightgbm"].open(corpus, str(tmp_path / "good.txt"))
    assert "num_leaves=4\n" in text
    damaged = re.sub(rf"^{key}=.*$", f"{key}={value}", text, count=1, flags=re.MULTILINE)
    for name, content in (
        ("bad.txt", damaged),
        ("twice.txt", text.replace(f"\n{key}=", f"\n{key}={value}\n{key}=", 1)),
    ):
        (tmp_path / name).write_text(content)
        if content != text:
            refused(corpus, "lightgbm", tmp_path / name)


def test_where_lightgbm_finds_its_trees_is_not_what_the_file_says(corpus, tmp_path):
    data = lightgbm.Dataset(corpus.features, corpus.relevance)
    booster = lightgbm.train({"num_leaves": 4, "verbose": -1, "min_data_in_leaf": 2}, data, 2)
    text = re.sub(r"tree_sizes=.*", "tree_sizes=1 99999999", booster.model_to_string())
    (tmp_path / "m.txt").write_text(text)
    (ranker,) = RANKER_KINDS["lightgbm"].open(corpus, str(tmp_path / "m.txt"))
    assert (ranker.scores() == booster.predict(corpus.features)).all()


XGBOOST = [
    ("left_children", [0, 0, 0, 0, 0, 0, 0]),
    ("left_children", [10**8, 3, 5, -1, -1, -1, -1]),
    ("right_children", [1, 4, 6, -1, -1, -1, -1]),
    ("right_children", [-1, 4, 6, -1, -1, -1, -1]),
    ("split_indices", [2 * 10**9, 1, 1, 0, 0, 0, 0]),
    ("split_indices", [1]),
    ("split_conditions", [1.0]),
    ("default_left", []),
    ("split_type", [1, 0, 0, 0, 0, 0, 0]),
    ("categories_nodes", [5]),
    ("left_children", [1.5, 3, 5, -1, -1, -1, -1]),
    ("left_children", "1"),
]


def xgboost_model(corpus):
    data = xgboost.DMatrix(corpus.features, corpus.relevance)
    booster = xgboost.train({"max_depth": 2, "min_child_weight": 0}, data, 2)
    model = json.loads(booster.save_raw("json"))
    assert len(model["learner"]["gradient_booster"]["model"]["trees"][0]["left_children"]) == 7
    return booster, model


@pytest.mark.parametrize("key, value", XGBOOST)
def test_an_xgboost_model_that_is_no_tree_is_refused(corpus, tmp_path, key, value):
    _, model = xgboost_model(corpus)
    tree = model["learner"]["gradient_booster"]["model"]["trees"][0]
    before = json.dumps(tree)
    tree[key] = value
    (tmp_path / "m.json").write_text(json.dumps(model))
    refused(corpus, "xgboost", tmp_path / "m.json")
    twice = json.dumps(model).replace(json.dumps(tree), before[:-1] + f', "{key}": {json.dumps(value)}}}')
    (tmp_path / "twice.json").write_text(twice)
    refused(corpus, "xgboost", tmp_path / "twice.json")


@pytest.mark.parametrize("place, value", [("tree_info", [7, 0]), ("tree_info", [0]), ("iteration_indptr", [0, 9, 2])])
def test_an_xgboost_model_of_other_trees_than_it_says_is_refused(corpus, tmp_path, place, value):
    _, model = xgboost_model(corpus)
    model["learner"]["gradient_booster"]["model"][place] = value
    (tmp_path / "m.json").write_text(json.dumps(model))
    refused(corpus, "xgboost", tmp_path / "m.json")


def test_a_tree_is_a_tree():
    def tree(left, right):
        require_tree(np.array(left, np.int64), np.array(right, np.int64))

    tree([], [])
    tree([1, 3, -1, -1, -1], [2, 4, -1, -1, -1])
    for left, right in (([0], [-1]), ([1, 0], [-1, -1]), ([1, -1], [1, -1]), ([5, -1], [-1, -1])):
        with pytest.raises(ValueError):
            tree(left, right)
    with pytest.raises(ValueError, match="too deep"):
        tree([*range(1, 10_001), -1], [-1] * 10_001)


def onnx_model(make):
    onnx = pytest.importorskip("onnx")
    pytest.importorskip("onnxruntime")
    helper, floats = onnx.helper, onnx.TensorProto.FLOAT
    ends = [helper.make_tensor_value_info(name, floats, shape) for name, shape in (("x", [None, 3]), ("y", None))]
    graph = make(helper, onnx.TensorProto, ends)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    return model.SerializeToString()


def endless(helper, kinds, ends):
    body = helper.make_graph(
        [helper.make_node("Identity", ["c"], ["d"]), helper.make_node("Identity", ["v"], ["w"])],
        "body",
        [
            helper.make_tensor_value_info("i", kinds.INT64, []),
            helper.make_tensor_value_info("c", kinds.BOOL, []),
            helper.make_tensor_value_info("v", kinds.FLOAT, [None, 3]),
        ],
        [
            helper.make_tensor_value_info("d", kinds.BOOL, []),
            helper.make_tensor_value_info("w", kinds.FLOAT, [None, 3]),
        ],
    )
    nodes = [helper.make_node("Loop", ["n", "t", "x"], ["y"], body=body)]
    given = [helper.make_tensor("n", kinds.INT64, [], [2**62]), helper.make_tensor("t", kinds.BOOL, [], [True])]
    return helper.make_graph(nodes, "g", ends[:1], ends[1:], given)


def vast(helper, kinds, ends):
    nodes = [helper.make_node("ConstantOfShape", ["s"], ["y"])]
    return helper.make_graph(nodes, "g", ends[:1], ends[1:], [helper.make_tensor("s", kinds.INT64, [1], [2**32])])


def hidden(helper, kinds, ends):
    """Put an operator inside another one."""
    inner = [vast(helper, kinds, ends) for _ in range(2)]
    for graph in inner:
        del graph.input[:]
    nodes = [helper.make_node("If", ["t"], ["y"], then_branch=inner[0], else_branch=inner[1])]
    return helper.make_graph(nodes, "g", ends[:1], ends[1:], [helper.make_tensor("t", kinds.BOOL, [], [True])])


@pytest.mark.parametrize("make, name", [(endless, "Loop"), (vast, "ConstantOfShape"), (hidden, "ConstantOfShape")])
def test_operators_without_a_limit_are_refused(corpus, tmp_path, make, name):
    (tmp_path / "m.onnx").write_bytes(onnx_model(make))
    refused(corpus, "onnx", tmp_path / "m.onnx", f"has the operator {name}, which lets a small file")
