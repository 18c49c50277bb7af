from .arrays import FloatMatrix as FloatMatrix
from .arrays import FloatVector as FloatVector
from .arrays import IntMatrix as IntMatrix
from .arrays import IntVector as IntVector
from .arrays import MarkMatrix as MarkMatrix
from .arrays import MarkVector as MarkVector
from .arrays import SignMatrix as SignMatrix
from .arrays import SmallIntMatrix as SmallIntMatrix
from .arrays import SmallIntVector as SmallIntVector
from .columns import ANSWERS as ANSWERS
from .columns import CLICKS as CLICKS
from .columns import COLUMNS as COLUMNS
from .columns import CORPUS as CORPUS
from .columns import CORRECT as CORRECT
from .columns import DRAW as DRAW
from .columns import FAMILY as FAMILY
from .columns import GAMMA as GAMMA
from .columns import GAP as GAP
from .columns import HORIZON as HORIZON
from .columns import IDENTIFIED_AT as IDENTIFIED_AT
from .columns import LOWER_BOUND as LOWER_BOUND
from .columns import METHOD as METHOD
from .columns import MODEL as MODEL
from .columns import NOTE as NOTE
from .columns import OUTCOME as OUTCOME
from .columns import POLICY as POLICY
from .columns import PROBLEM as PROBLEM
from .columns import RANKERS as RANKERS
from .columns import RECOMMENDED as RECOMMENDED
from .columns import REGRET as REGRET
from .columns import REPETITION as REPETITION
from .columns import SIZE as SIZE
from .columns import SOURCE as SOURCE
from .columns import STUDY as STUDY
from .columns import SUBSET as SUBSET
from .columns import TOP as TOP
from .columns import T as T
from .columns import regret_column as regret_column
from .columns import regret_label as regret_label
from .columns import regret_name as regret_name
from .components import (
    REGISTRIES as REGISTRIES,
)
from .components import (
    Component as Component,
)
from .components import (
    Configured as Configured,
)
from .components import (
    NoParams as NoParams,
)
from .digest import digest_of as digest_of
from .digest import sha256_file as sha256_file
from .draws import beta_draw as beta_draw
from .draws import binomial_draw as binomial_draw
from .draws import normal_draw as normal_draw
from .errors import InputError as InputError
from .errors import require_between as require_between
from .errors import unknown_name as unknown_name
from .files import replacing as replacing
from .files import replacing_folder as replacing_folder
from .home import cache_home as cache_home
from .jit import KERNEL_FLAGS as KERNEL_FLAGS
from .jit import dispatched as dispatched
from .jit import dispatched_call as dispatched_call
from .jit import implement as implement
from .jit import interpreted as interpreted
from .jit import kernel as kernel
from .jit import kernel_for as kernel_for
from .parallel import PlainLine as PlainLine
from .parallel import checked_jobs as checked_jobs
from .parallel import progress_wanted as progress_wanted
from .parallel import run_tasks as run_tasks
from .plugins import Plugin as Plugin
from .plugins import load_plugin as load_plugin
from .plugins import reload_plugin as reload_plugin
from .random import Streams as Streams
from .random import coin as coin
from .random import random_below as random_below
from .random import shuffle as shuffle
from .random import stream as stream
from .references import Reference as Reference
from .references import reference_of as reference_of
from .registry import Registry as Registry
from .sources import ROOT as ROOT
from .sources import sources_digest as sources_digest
from .threads import abandon as abandon
from .threads import abandoned_threads_run as abandoned_threads_run
from .vector import count_at as count_at
from .vector import count_up_to as count_up_to
from .vector import first_most as first_most
from .vector import highest as highest
from .vector import larger as larger
from .vector import largest as largest
from .vector import nth_at as nth_at
from .vector import nth_up_to as nth_up_to
from .vector import random_fewest as random_fewest
from .vector import random_highest as random_highest
from .vector import random_most as random_most
from .vector import random_up_to as random_up_to
from .vector import sign as sign
from .vector import smallest as smallest
