"""The pages, as uvicorn serves them."""

import os

os.environ.setdefault("CKPTSITE_ROLE", "web")
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "ckptsite.settings")

from django.conf import settings
from django.core.asgi import get_asgi_application

from ckptsite import bodies

application = bodies.Bounded(get_asgi_application(), settings.CKPTSITE_BODY)
