from .planned import EVENTS as EVENTS
from .planned import EXPOSURES as EXPOSURES
from .planned import Followed as Followed
from .planned import Loop as Loop
from .planned import follow_plans as follow_plans
from .replaying import Replayed as Replayed
from .replaying import replay as replay
from .users import SimulatedUsers as SimulatedUsers
