from .analysis import plot_regret as plot_regret
from .data import load_dataset as load_dataset
from .interleaving import Page as Page
from .interleaving import interleave as interleave
from .preferences import (
    PreferenceMatrix as PreferenceMatrix,
)
from .preferences import (
    estimate_preferences as estimate_preferences,
)
from .preferences import (
    load_preferences as load_preferences,
)
from .preferences import (
    save_preferences as save_preferences,
)
from .rankers import feature_rankers as feature_rankers
from .simulation import SimulatedUsers as SimulatedUsers
from .simulation import simulate as simulate

__version__: str
