from .answer import Advice as Advice
from .api import advise as advise
from .api import try_candidates as try_candidates
from .sentences import ANSWER as ANSWER
