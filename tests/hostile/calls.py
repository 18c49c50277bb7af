"""Bad arguments from Python: an expression => a part of the error's sentence, in which ~ stands for any text."""

from __future__ import annotations

CALLS = """
simulate(arxiv(), 'random', horizon=1.5) => the horizon must be a whole number, not 1.5
simulate(arxiv(), 'random', horizon=np.array([1, 2])) => must be a whole number, not a ndarray
simulate(arxiv(), 'random', horizon=10**400) => (401 characters)
simulate(arxiv(), 'random', horizon=10, seed=np.random.default_rng(0)) => a whole number, not a Generator
simulate(arxiv(), [['rucb']]) => must be a name or an object of that kind, not a list
simulate(np.eye(2), 'rucb') => or an oracle, not a ndarray
simulate(FromMatrix(arxiv()), 'rucb', preferences=np.eye(2)) => pass preferences=, a PreferenceMatrix
Results([], arxiv()).to_frame() => there is no run
estimate_preferences(corpus()) => must be Rankings,~not a Dataset
estimate_preferences(rankings(), at_most=10**30, target_error=0.1) => at most 1,073,741,824 comparisons
estimate_preferences(rankings(), outcome=5) => no outcome rule of probabilistic called 5

load_dataset(None) => the path of a file or folder, not None
load_dataset('small.txt', fill=[1]) => the fill must be between~not a list
load_dataset('small.txt', dialect=[1, 2]) => no dialect a list
load_dataset('small.txt', feature_names=['x']) => 1 names for 3 features
write_svmlight(corpus(), '.') => it is a folder, a pipe or a device, not a file
feature_rankers(corpus(), features=[1]) => must be a list of names, not 1
rankers_named(corpus(), ['scores:' + 300 * 'a']) => aaaa~characters) cannot be read: File name too long
evaluate_rankers(rankings(), 5) => no measure '5'

run_experiment('x', 'o') => of make_schedule, must be a Schedule, not 'x'
plot_regret(pd.DataFrame({'x': [1]})) => a figure has no column 'policy'
plot_accuracy(pd.DataFrame({'policy': [], 't': []})) => a figure has no row
save_figure(plot_preferences(arxiv()), 300 * 'a' + '.png') => characters) cannot be written: File name too long

PreferenceMatrix([[0.5], [0.5, 0.5]]) => its rows are not of equal length
PreferenceMatrix(arxiv().p[:2, :2], 'ab') => must be a list of strings, not 'ab'
PreferenceMatrix(arxiv().p[:2, :2], (chr(0xd800), 'b')) => not '\\ud800'
PreferenceMatrix(arxiv().p[:2, :2], comparisons=np.full((2, 2), 1.5)) => whole numbers
save_preferences(PreferenceMatrix(arxiv().p, provenance={'a': object()}), 'new/a.parquet') => must be valid JSON
arxiv().index(99) => between 0 and 5, not 99
"""
