"""Every address of the site."""

from django.contrib import admin
from django.urls import path

from ckptsite import health

urlpatterns = [
    path("healthz", health.healthz, name="healthz"),
    path("admin/", admin.site.urls),
]
