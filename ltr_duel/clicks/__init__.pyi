from .check import check_click_model as check_click_model
from .model import CLICK_MODELS as CLICK_MODELS
from .model import ClickFamily as ClickFamily
from .model import ClickModel as ClickModel
from .model import Users as Users
from .model import click_model as click_model
from .model import simulate_clicks as simulate_clicks
from .model import users_of as users_of
