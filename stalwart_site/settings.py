"""Settings, all of them read from the environment, with defaults that suit one machine.

Every duration is in seconds. Durations that decide how fast the engine reacts (lease, back-off, sweep)
are seconds apart in production and short in tests.
"""

import os
from pathlib import Path
from urllib.parse import unquote, urlsplit

from csp.constants import NONE, SELF

from stalwart_site import state_folder
from stalwart_site.embedded_postgres import url_of
from stalwart_site.environment import count, database, flag, log_level, mail, seconds, site, time_zone, words

BASE_DIR = Path(__file__).resolve().parent.parent
STATE_DIR = Path(os.environ.get("STALWART_HOME") or BASE_DIR / ".stalwart").absolute()


# --- Who we are -------------------------------------------------------------------------------------
DEBUG = flag("STALWART_DEBUG")
# Practice only: `--fault` and `--interrupt` are refused unless this (or DEBUG) is on.
FAULTS_ALLOWED = DEBUG or flag("STALWART_FAULTS")
# `stalwart serve` makes a key and keeps it in the state folder, for every command of this machine.
SECRET_KEY = (
    os.environ.get("STALWART_SECRET_KEY")
    or state_folder.secret_key(STATE_DIR)
    or "insecure-key-of-a-practice-machine"
)
ALLOWED_HOSTS = words("STALWART_HOSTS", "localhost,127.0.0.1,[::1]")
CSRF_TRUSTED_ORIGINS = words("STALWART_ORIGINS")

INSTALLED_APPS = [
    "runs.apps.RunsConfig",
    "approvals.apps.ApprovalsConfig",
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.postgres",
    "whitenoise.runserver_nostatic",
    "django.contrib.staticfiles",
    "axes",
    "csp",
    "django_htmx",
    "django_q",
    "drf_spectacular",
    "drf_spectacular_sidecar",
    "pgtrigger",
    "rest_framework",
    "stalwart_site.apps.SiteConfig",  # after django_q, whose admin it takes away
]

MIDDLEWARE = [
    "csp.middleware.CSPMiddleware",  # first: every response has the policy, files among them
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    # Pages too. Against BREACH (guessing by length) random bytes go with each, and its token is masked anew.
    "django.middleware.gzip.GZipMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "runs.views.zone.ZoneMiddleware",
    "axes.middleware.AxesMiddleware",
]

ROOT_URLCONF = "stalwart_site.urls"
WSGI_APPLICATION = "stalwart_site.wsgi.application"

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ],
        },
    },
]

# --- The database: PostgreSQL everywhere -------------------------------------------------------------
# Without DATABASE_URL it is the embedded server, which `stalwart serve` starts; its address follows from the
# state folder, so every command of this machine finds it.
DATABASES = {"default": database("DATABASE_URL", url_of(STATE_DIR / "postgres"))}
# The engine's statements are prepared, so that the server need not plan each anew (runs/rows.py). Django's own are
# not; without this line psycopg would prepare none. Behind PgBouncer: 1.21 or newer, max_prepared_statements > 0.
DATABASES["default"].setdefault("OPTIONS", {})["prepare_threshold"] = 5
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

# --- Sign-in -----------------------------------------------------------------------------------------
AUTHENTICATION_BACKENDS = ["axes.backends.AxesStandaloneBackend", "django.contrib.auth.backends.ModelBackend"]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": f"django.contrib.auth.password_validation.{name}"}
    for name in ("UserAttributeSimilarityValidator", "MinimumLengthValidator", "CommonPasswordValidator")
]
LOGIN_URL = "login"
LOGIN_REDIRECT_URL = "needs-you"
LOGOUT_REDIRECT_URL = "login"
AXES_FAILURE_LIMIT = 10
AXES_COOLOFF_TIME = 0.25  # hours
AXES_LOCKOUT_PARAMETERS = [["username", "ip_address"]]
AXES_RESET_ON_SUCCESS = True

SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = "Lax"
CSRF_COOKIE_SAMESITE = "Lax"
# One machine is plain HTTP on localhost; behind TLS, STALWART_TLS=1 makes every cookie secure.
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = SECURE_SSL_REDIRECT = flag("STALWART_TLS")
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if flag("STALWART_TLS") else None
SECURE_HSTS_SECONDS = 31_536_000 if flag("STALWART_TLS") else 0
X_FRAME_OPTIONS = "DENY"
SECURE_REFERRER_POLICY = "same-origin"

CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": [NONE],
        "script-src": [SELF],
        "style-src": [SELF],
        "img-src": [SELF, "data:"],
        "font-src": [SELF],
        "connect-src": [SELF],
        "form-action": [SELF],
        "frame-ancestors": [NONE],
        "base-uri": [NONE],
    }
}

# --- Static files, language, time --------------------------------------------------------------------
STATIC_URL = "static/"
STATIC_ROOT = STATE_DIR / "static"
STATICFILES_DIRS = [BASE_DIR / "static"]
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "whitenoise.storage.CompressedManifestStaticFilesStorage"},
}
# What is compressed already, and source maps: they are most of the bytes, and nobody waits for one.
WHITENOISE_SKIP_COMPRESS_EXTENSIONS = [
    "gif",
    "gz",
    "ico",
    "jpg",
    "map",
    "png",
    "webp",
    "woff",
    "woff2",
    "zip",
]
LANGUAGE_CODE = "en"
TIME_ZONE = time_zone("STALWART_TIME_ZONE", "UTC")
USE_TZ = True

# --- The engine --------------------------------------------------------------------------------------
# Agent files this installation serves; each is an agent.yaml.
_EXAMPLES = (
    "desk/agent.yaml",
    "desk/till.yaml",
    "returns/agent.yaml",
    "returns/atomic.yaml",
    "resolver/agent.yaml",
)
AGENT_FILES = [
    Path(path)
    for path in words("STALWART_AGENTS", ",".join(str(BASE_DIR / "examples" / name) for name in _EXAMPLES))
]
LEASE_SECONDS = seconds("STALWART_LEASE_SECONDS", 30)
CALL_TIMEOUT_SECONDS = seconds("STALWART_CALL_TIMEOUT_SECONDS", 10)
RETRY_SECONDS = seconds("STALWART_RETRY_SECONDS", 2)  # first back-off; doubles each time
LOOK_AGAIN_SECONDS = seconds("STALWART_LOOK_AGAIN_SECONDS", 60)  # of an open question; doubles, up to an hour
TURN_SECONDS = seconds("STALWART_TURN_SECONDS", 20)  # then a run is given back, and others get their turn
MODEL_REQUESTS = count("STALWART_MODEL_REQUESTS", 20)  # to a run's model, in all
MODEL_TIMEOUT_SECONDS = seconds("STALWART_MODEL_TIMEOUT_SECONDS", 60)  # of one; well below a task's own
SWEEP_SECONDS = seconds("STALWART_SWEEP_SECONDS", 1)
RENUDGE_SECONDS = seconds("STALWART_RENUDGE_SECONDS", 5)
QUESTION_SECONDS = seconds("STALWART_QUESTION_SECONDS", 3600)  # after this a question escalates
# Where `stalwart serve` runs the practice services, unless we are told.
SERVICES_URL = (
    os.environ.get("STALWART_SERVICES_URL")
    or state_folder.record(STATE_DIR).get("services_url")
    or "http://127.0.0.1:8701"
)

# --- The queue: it wakes workers and holds no truth ---------------------------------------------------
WORKERS = count("STALWART_WORKERS", 2)
TASK_TIMEOUT_SECONDS = count("STALWART_TASK_TIMEOUT_SECONDS", 120)
Q_CLUSTER = {
    # The name salts the signature of every task: it is the same on every machine.
    "name": "stalwart",
    "orm": "default",
    "broker_class": "runs.queue.CountingBroker",
    "workers": WORKERS,
    "queue_limit": WORKERS,
    "bulk": 1,
    "poll": 0.2,
    "timeout": TASK_TIMEOUT_SECONDS,
    "retry": 3 * TASK_TIMEOUT_SECONDS + 1,
    "ack_failures": True,
    "save_limit": -1,
    "catch_up": False,
    "max_rss": 150 * 1024,  # KiB; a worker past it is replaced after its task
    "label": "Queue",
}

# A worker told to stop gives its calls in flight DRAIN_SECONDS. A cluster that has nudges, or could take some, and
# for STALL_SECONDS neither takes or finishes one nor has anybody at work, counts as hung, and is replaced.
DRAIN_SECONDS = seconds("STALWART_DRAIN_SECONDS", 30)
STALL_SECONDS = seconds("STALWART_STALL_SECONDS", 10)

# --- Telling others: webhooks and mail -----------------------------------------------------------------
# Where people reach the console: links in messages lead there.
SITE_URL = site("STALWART_URL", state_folder.record(STATE_DIR).get("url") or "http://localhost:8700")
DELIVERY_TRIES = 12
DELIVERY_RETRY_SECONDS = seconds("STALWART_DELIVERY_RETRY_SECONDS", 30)  # doubles each time, up to 6 hours
DELIVERY_TIMEOUT_SECONDS = 10
DELIVERY_CLAIM_SECONDS = seconds("STALWART_DELIVERY_CLAIM_SECONDS", 60)  # longer than a try may take
# Messages leave for addresses of the public network alone, and by TLS; a practice machine sends anywhere.
WEBHOOKS_PRIVATE = FAULTS_ALLOWED or flag("STALWART_WEBHOOKS_PRIVATE")
WEBHOOKS_PLAIN = FAULTS_ALLOWED
# smtp://user:password@host:587 (STARTTLS), smtps://… (TLS), smtp+plain://localhost:25; without one no mail is sent.
_MAIL = mail("STALWART_MAIL") or urlsplit("")
MAIL = bool(_MAIL.hostname)
EMAIL_HOST, EMAIL_PORT = _MAIL.hostname or "", _MAIL.port or (465 if _MAIL.scheme == "smtps" else 587)
EMAIL_HOST_USER, EMAIL_HOST_PASSWORD = unquote(_MAIL.username or ""), unquote(_MAIL.password or "")
EMAIL_USE_TLS, EMAIL_USE_SSL = _MAIL.scheme == "smtp", _MAIL.scheme == "smtps"
EMAIL_TIMEOUT = DELIVERY_TIMEOUT_SECONDS
DEFAULT_FROM_EMAIL = (
    os.environ.get("STALWART_MAIL_FROM") or f"Stalwart <stalwart@{urlsplit(SITE_URL).hostname}>"
)

# --- The API -----------------------------------------------------------------------------------------
# Every endpoint says for itself who may use it (runs/api/endpoint.py).
REST_FRAMEWORK = {
    "DEFAULT_SCHEMA_CLASS": "runs.api.openapi.Described",
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_AUTHENTICATION_CLASSES": ["runs.api.auth.BearerToken"],
    "EXCEPTION_HANDLER": "runs.api.problems.handle",
}
SPECTACULAR_SETTINGS = {
    "TITLE": "Stalwart",
    "DESCRIPTION": "The REST API through which agents write to the real world.",
    "VERSION": "1",
    "OAS_VERSION": "3.1.0",
    "SCHEMA_PATH_PREFIX": "/api/v1",
    "SERVE_INCLUDE_SCHEMA": False,
    "POSTPROCESSING_HOOKS": [],  # the models name their own enumerations
    "SWAGGER_UI_DIST": "SIDECAR",
    "SWAGGER_UI_FAVICON_HREF": "SIDECAR",
    # No validator elsewhere; a token that is typed in stays in the page's memory.
    "SWAGGER_UI_SETTINGS": {"deepLinking": True, "persistAuthorization": False, "validatorUrl": None},
}

LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"line": {"format": "%(asctime)s %(levelname)s %(name)s %(message)s"}},
    "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "line"}},
    "root": {"handlers": ["stderr"], "level": log_level("STALWART_LOG_LEVEL", "WARNING")},
}
