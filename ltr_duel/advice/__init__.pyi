from .answer import Advice as Advice
from .api import advise as advise
from .report import ANSWER as ANSWER
