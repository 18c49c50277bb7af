from .client import address_of as address_of
from .replaying import replay as replay
from .report import Replayed as Replayed
from .users import SimulatedUsers as SimulatedUsers
