"""What Django admin does not show: django-q2's own pages, whose "resubmit" would go past the ledger.

This app stands after django_q in INSTALLED_APPS, so that what it registers is there to be taken away.
"""

from django.contrib import admin
from django_q.models import Failure, OrmQ, Schedule, Success

admin.site.site_header = "Stalwart: history"
admin.site.site_title = "Stalwart"
admin.site.index_title = "Read only, but for people and their roles"

for model in (Failure, OrmQ, Schedule, Success):
    if admin.site.is_registered(model):
        admin.site.unregister(model)
