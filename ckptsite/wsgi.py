"""The pages for a WSGI server; live updates need the ASGI one."""

import os

os.environ.setdefault("CKPTSITE_ROLE", "web")
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "ckptsite.settings")

from django.core.wsgi import get_wsgi_application

application = get_wsgi_application()
