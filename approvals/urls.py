"""The addresses of questions and handovers, of the dashboard and the settings."""

from django.urls import path

from approvals import bulk_views, dashboard_views, handover_views, settings_views, views

urlpatterns = [
    path("", views.needs_you_page, name="needs-you"),
    path("news/", views.needs_you_news, name="needs-you-news"),
    path("questions/together/", bulk_views.together, name="together"),
    path("questions/together/<str:nonce>/", bulk_views.came_of_it, name="came-of-it"),
    path("questions/<int:step_id>/", views.question, name="question"),
    path("questions/<int:step_id>/card/", views.question_card, name="question-card"),
    path("questions/<int:step_id>/lookup/", views.question_lookup, name="question-lookup"),
    path("questions/<int:step_id>/run/", views.question_run, name="question-run"),
    path("handovers/", handover_views.handover_list, name="handovers"),
    path("handovers/<int:run_id>/", handover_views.handover_page, name="handover"),
    path("settings/", settings_views.settings_page, name="settings"),
    path("settings/webhooks/", settings_views.webhook_list, name="webhooks"),
    path("settings/webhooks/<int:number>/", settings_views.webhook_page, name="webhook"),
    path("dashboard/", dashboard_views.dashboard_page, name="dashboard"),
]
