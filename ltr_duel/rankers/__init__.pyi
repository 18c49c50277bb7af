from .features import column_means as column_means
from .features import constant_features as constant_features
from .features import feature_rankers as feature_rankers
from .metrics import ndcg as ndcg
from .rankings import Rankings as Rankings
from .rankings import inverse as inverse
from .ties import REDRAWING as REDRAWING
from .ties import TIE_RULES as TIE_RULES
