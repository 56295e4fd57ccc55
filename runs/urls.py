"""The addresses of runs and conversations."""

from django.urls import path, re_path

from runs.views import conversations, runs, tools, workers

urlpatterns = [
    path("runs/", runs.run_list, name="runs"),
    re_path(r"^runs/export\.(?P<kind>csv|json)$", runs.run_export, name="runs-export"),
    path("runs/<int:run_id>/", runs.run_page, name="run"),
    path("tools/", tools.tools_page, name="tools"),
    path("tools/plan/", tools.plan_page, name="plan"),
    path("workers/", workers.workers_page, name="workers"),
    path("workers/now/", workers.workers_now, name="workers-now"),
    path("conversations/", conversations.conversation_list, name="conversations"),
    path("conversations/<uuid:thread_id>/", conversations.conversation, name="conversation"),
    path(
        "conversations/<uuid:thread_id>/pulse/", conversations.conversation_pulse, name="conversation-pulse"
    ),
]
