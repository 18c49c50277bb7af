from .app import make_app as make_app
from .keys import ApiKeys as ApiKeys
from .run import run_service as run_service
from .settings import ServiceSettings as ServiceSettings
from .settings import service_settings as service_settings
