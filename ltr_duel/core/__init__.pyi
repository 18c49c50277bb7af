from .arrays import FloatMatrix as FloatMatrix
from .arrays import FloatVector as FloatVector
from .arrays import IntMatrix as IntMatrix
from .arrays import IntVector as IntVector
from .arrays import MarkMatrix as MarkMatrix
from .arrays import MarkVector as MarkVector
from .arrays import SignMatrix as SignMatrix
from .arrays import SmallIntMatrix as SmallIntMatrix
from .arrays import SmallIntVector as SmallIntVector
from .compile_errors import compile_error as compile_error
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
from .draws import beta_draw as beta_draw
from .draws import binomial_draw as binomial_draw
from .draws import normal_draw as normal_draw
from .errors import InputError as InputError
from .errors import require_between as require_between
from .errors import unknown_name as unknown_name
from .files import replacing as replacing
from .home import cache_home as cache_home
from .jit import KERNEL_FLAGS as KERNEL_FLAGS
from .jit import dispatched as dispatched
from .jit import dispatched_call as dispatched_call
from .jit import implement as implement
from .jit import interpreted as interpreted
from .jit import kernel as kernel
from .jit import kernel_for as kernel_for
from .jit import uncached_kernel as uncached_kernel
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
