"""All settings. They load without server, environment or data folder; a wrong value is refused by name."""

import os
from pathlib import Path
from typing import Any

from ckptsite import addresses, content, env, logs, oidc, times, traces
from ckptsite.services import folder

BASE_DIR = Path(__file__).resolve().parent.parent
CKPTSITE_DATA = Path(env.text("CKPTSITE_DATA", str(BASE_DIR / ".ckptsite"))).expanduser().absolute()
CKPTSITE_ROLE = env.choice("CKPTSITE_ROLE", "tool", among=("web", "worker", "clock", "tool"))
_data = folder.Folder(CKPTSITE_DATA)

# Secrets: given, or made once as files in the data folder. Losing SECRET_KEY costs sessions only.
SECRET_KEY = env.text("SECRET_KEY") or folder.secret(_data, "secret_key")
KEY_HMAC = (env.text("CKPTSITE_KEY_HMAC") or folder.secret(_data, "key_hmac")).encode()
# Under the first of these what is kept of secrets is encrypted; the others still open what is older.
CKPTSITE_SECRETS_KEYS = env.text("CKPTSITE_SECRETS_KEYS")
if not CKPTSITE_SECRETS_KEYS:
    folder.secret(_data, "secrets_keys")
CKPTSITE_SECRETS_KEYS_PATH = _data.root / "secrets_keys"
AUDIT_HMAC = (env.text("CKPTSITE_AUDIT_HMAC") or folder.secret(_data, "audit_hmac")).encode()

# Address: one setting says where people reach the pages.
DEBUG = env.flag("DEBUG", default=False)
_site = addresses.site(
    env.text("PUBLIC_URL", f"http://127.0.0.1:{env.integer('CKPTSITE_PORT', _data.noted_port(8000))}")
)
PUBLIC_URL = _site.url
_loopback = ["127.0.0.1", "localhost", "[::1]"]
ALLOWED_HOSTS = sorted({_site.host, *_loopback, *env.words("ALLOWED_HOSTS")})
CSRF_TRUSTED_ORIGINS = [PUBLIC_URL]
SECURE_SSL_REDIRECT = _site.secure
SECURE_REDIRECT_EXEMPT = [
    r"^(healthz|readyz)$"
]  # asked over loopback by the supervisor and by load balancers
SECURE_HSTS_SECONDS = 31_536_000 if _site.secure else 0
SECURE_CONTENT_TYPE_NOSNIFF = True
SECURE_REFERRER_POLICY = "same-origin"
SECURE_CROSS_ORIGIN_OPENER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = _site.secure
SESSION_COOKIE_HTTPONLY = CSRF_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = CSRF_COOKIE_SAMESITE = "Lax"
# "__Host-": no other host and no plain http page can set it. Not every browser keeps such cookies over http.
SESSION_COOKIE_NAME = "__Host-session" if _site.secure else "ckptsite_session"
CSRF_COOKIE_NAME = "__Host-csrf" if _site.secure else "ckptsite_csrf"
SESSION_ENGINE = "runs.models.session"  # in the database, with both limits below on its clock
SESSION_COOKIE_AGE = int(times.TIMES["SESSION_MAX"])
CSRF_FAILURE_VIEW = "runs.views.errors.csrf_failure"
CONTENT_SECURITY_POLICY = content.POLICY

INSTALLED_APPS = [
    "servestatic",
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.humanize",
    "django.contrib.messages",
    "django.contrib.postgres",
    "django.contrib.sessions",
    "django.contrib.staticfiles",
    "allauth.account",
    "allauth.mfa",
    "allauth.socialaccount",
    "csp",
    "template_partials",
    "ckptsite.apps.SiteConfig",
    "runs",
    "runs.demo",
    *env.words("CKPTSITE_APPS"),  # your own apps, with their tools.py and agents.py
]
MIDDLEWARE = [
    "ckptsite.request_ids.RequestIdMiddleware",  # first, so that every line of a request has its id
    "django.middleware.security.SecurityMiddleware",
    "servestatic.middleware.ServeStaticMiddleware",
    "ckptsite.compression.PagesMiddleware",
    "csp.middleware.CSPMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "allauth.account.middleware.AccountMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django_htmx.middleware.HtmxMiddleware",  # the app itself is not installed: we ship our own htmx
    "runs.middleware.PageMiddleware",
]
ROOT_URLCONF = "ckptsite.urls"
ASGI_APPLICATION = "ckptsite.asgi.application"
WSGI_APPLICATION = "ckptsite.wsgi.application"
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
                "runs.context.shell",
            ],
        },
    }
]

# Database: the embedded server in the data folder unless DATABASE_URL names another one. One setting a role.
_timeouts = {
    "statement_timeout": env.seconds("CKPTSITE_STATEMENT_TIMEOUT", 30),
    "lock_timeout": env.seconds("CKPTSITE_LOCK_TIMEOUT", 2),
    "idle_in_transaction_session_timeout": env.seconds("CKPTSITE_IDLE_TIMEOUT", 10),
}
_database = addresses.database(env.text("DATABASE_URL", _data.database_url))
DATABASE_PREPARE = env.flag("DATABASE_PREPARE", default=True)  # off behind a transaction pooler
_options: dict[str, Any] = {
    "connect_timeout": "5",
    **_database.options,
    "application_name": f"ckptsite {CKPTSITE_ROLE}",  # by this name the clock's last look is found
    "options": " ".join(
        [
            _database.options.get("options", ""),
            *(f"-c {name}={value * 1000:.0f}" for name, value in _timeouts.items()),
        ]
    ).strip(),
}
if CKPTSITE_ROLE == "web":
    # One idle connection at rest: after a server restart the pool waits ever longer between broken ones.
    _options["pool"] = {
        "min_size": 1,
        "max_size": env.integer("CKPTSITE_POOL", 10, minimum=1),
        "timeout": 5,
        "max_idle": 60,
    }
elif CKPTSITE_ROLE in {"worker", "clock"} and DATABASE_PREPARE:
    _options["prepare_threshold"] = 1
DATABASES: dict[str, dict[str, Any]] = {
    "default": {
        **_database.django(),
        "OPTIONS": _options,
        "CONN_MAX_AGE": None if CKPTSITE_ROLE in {"worker", "clock"} else 0,
        "CONN_HEALTH_CHECKS": True,
        "ATOMIC_REQUESTS": False,
    }
}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
# Valkey or Redis carries hints only; nothing is lost when it is gone.
_redis = addresses.redis(env.text("REDIS_URL", _data.redis_url))
REDIS_BROKER = _redis.broker  # as kombu spells it
REDIS_CLIENT = _redis.client  # as redis-py spells it
REDIS_TIMEOUT = 0.5  # seconds; a paused server must never hold up a decision
CACHES = {
    # Counts of tries only, as JSON: Django's own backend for this server pickles.
    "default": {"BACKEND": "ckptsite.counts.Counts", "KEY_FUNCTION": "ckptsite.counts.named"}
}

AUTH_USER_MODEL = "runs.User"
AUTHENTICATION_BACKENDS = ["runs.forms.passwords.Backend"]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator"},
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator", "OPTIONS": {"min_length": 10}},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
    {"NAME": "django.contrib.auth.password_validation.NumericPasswordValidator"},
]
# Signing in is django-allauth's: password, second factors, passkeys, single sign-on. Nobody signs up.
ACCOUNT_ADAPTER = "runs.views.adapters.Account"
ACCOUNT_LOGIN_METHODS = {"username"}
ACCOUNT_EMAIL_VERIFICATION = "none"
ACCOUNT_SESSION_REMEMBER = True  # a session ends by its two limits, not with the window
ACCOUNT_RATE_LIMITS = {"login": "30/m/ip", "login_failed": "20/15m/ip,20/15m/key"}
MFA_ADAPTER = "runs.views.adapters.Factors"
MFA_SUPPORTED_TYPES = ["totp", "webauthn", "recovery_codes"]
MFA_PASSKEY_LOGIN_ENABLED = True
MFA_TOTP_ISSUER = _site.host
MFA_TOTP_TOLERANCE = 1  # half a minute either way: clocks of phones differ
MFA_REAUTHENTICATION_REQUIRED = False  # one rule asks for it, here as for decisions: runs.transitions.proofs
SOCIALACCOUNT_ADAPTER = "runs.views.adapters.SingleSignOn"
SOCIALACCOUNT_STORE_TOKENS = False
SOCIALACCOUNT_PROVIDERS = {"openid_connect": {"APPS": oidc.apps()}}
# Who may release, and hasn't shown more than a password, is led to a second factor before anything else.
CKPTSITE_REQUIRE_MFA = env.flag("CKPTSITE_REQUIRE_MFA", default=False)
CKPTSITE_OIDC_DOMAINS = [domain.lower() for domain in env.words("CKPTSITE_OIDC_DOMAINS")]
_roles = ("viewer", "reviewer", "operator", "auditor")
CKPTSITE_OIDC_GROUP = env.choice("CKPTSITE_OIDC_GROUP", "viewer", among=_roles)
LOGIN_URL = "login"
LOGIN_REDIRECT_URL = "inbox"
LOGOUT_REDIRECT_URL = "login"

LANGUAGE_CODE = "en"
LANGUAGES = [("en", "English")]
USE_I18N = True
USE_TZ = True
TIME_ZONE = env.text("CKPTSITE_TIME_ZONE", "UTC")

STATIC_URL = "static/"
STATIC_ROOT = _data.static
STATICFILES_DIRS = [BASE_DIR / "static"]
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.InMemoryStorage"},  # bytes belong into the database
    "staticfiles": {"BACKEND": "ckptsite.staticfiles.Storage"},
}

# Mail: over SMTP when a host is named, else each mail is a file.
EMAIL_HOST = env.text("EMAIL_HOST")
EMAIL_PORT = env.integer("EMAIL_PORT", 587 if EMAIL_HOST else 25, minimum=1)
EMAIL_HOST_USER = env.text("EMAIL_HOST_USER")
EMAIL_HOST_PASSWORD = env.text("EMAIL_HOST_PASSWORD")
EMAIL_USE_SSL = env.flag("EMAIL_USE_SSL", default=False)
EMAIL_USE_TLS = env.flag("EMAIL_USE_TLS", default=bool(EMAIL_HOST) and not EMAIL_USE_SSL)
EMAIL_TIMEOUT = env.integer("EMAIL_TIMEOUT", 20, minimum=1)
DEFAULT_FROM_EMAIL = env.text("DEFAULT_FROM_EMAIL", f"ckptsite@{_site.host}")
CKPTSITE_MAIL_DIR = _data.mail
CKPTSITE_NOTICES_DIR = _data.notices  # not among the agents' letters
# Folder whose files an agent may name by path; without it only those that a run was given.
CKPTSITE_FILES_DIR = env.text("CKPTSITE_FILES_DIR")
# File that names MCP servers, whose tools agents may call once a person has accepted them.
CKPTSITE_MCP = env.text("CKPTSITE_MCP")
CKPTSITE_LEDGER = _data.ledger
# Which of the built-in tools may reach what: without it those that reach anything are off.
CKPTSITE_TOOLS = env.document("CKPTSITE_TOOLS", CKPTSITE_DATA / "tools.toml")
# The head of the audit chain goes there. What lies beside the database doesn't outlive whoever owns the machine.
CKPTSITE_AUDIT_HEADS = Path(env.text("CKPTSITE_AUDIT_HEADS", str(CKPTSITE_DATA / "audit-heads.jsonl")))

# Where notices may be posted to beside public https addresses, such as 10.1.0.0/16; http only to this machine itself.
CKPTSITE_OUTGOING = env.networks("CKPTSITE_OUTGOING")
# Slack: by a bot, or by an incoming webhook of one channel; buttons also need the signing secret, team and channel.
SLACK_API = env.text("SLACK_API", "https://slack.com/api")
SLACK_BOT_TOKEN, SLACK_WEBHOOK_URL = env.text("SLACK_BOT_TOKEN"), env.text("SLACK_WEBHOOK_URL")
SLACK_SIGNING_SECRET = env.text("SLACK_SIGNING_SECRET")
SLACK_TEAM, SLACK_CHANNEL = env.text("SLACK_TEAM"), env.text("SLACK_CHANNEL")
CKPTSITE_SLACK = bool(SLACK_WEBHOOK_URL or (SLACK_BOT_TOKEN and SLACK_CHANNEL))
CKPTSITE_AUDIT_HEADS_MAIL = env.text(
    "CKPTSITE_AUDIT_HEADS_MAIL"
)  # a mailbox that the head is sent to as well

CKPTSITE: dict[str, float] = times.TIMES  # in seconds, and a few counts
# Who has it may read the site's figures at /metricsz, as Prometheus does.
CKPTSITE_METRICS_TOKEN = env.text("CKPTSITE_METRICS_TOKEN")
CKPTSITE_API_RATE = env.integer("CKPTSITE_API_RATE", 600, minimum=1)  # requests a minute, for each token
# Requests a minute to pages: of one person, and from one address whoever it is.
CKPTSITE_PAGE_RATE = env.integer("CKPTSITE_PAGE_RATE", 1200, minimum=1)
CKPTSITE_ADDRESS_RATE = env.integer("CKPTSITE_ADDRESS_RATE", 6000, minimum=1)
# Bytes that one request may carry: a file of the largest size in base64, or two as they are.
CKPTSITE_BODY = env.integer("CKPTSITE_BODY", 50_000_000, minimum=1)
DATA_UPLOAD_MAX_NUMBER_FILES = 20
# What the whole installation may use on one day; what isn't named isn't limited.
CKPTSITE_DAY_BUDGET = env.limits(
    "CKPTSITE_DAY_BUDGET", among=("steps", "calls", "tokens", "cost_micro", "seconds")
)
# The engine refuses to work on a server that may forget commits; tests run on such a one on purpose.
CKPTSITE_ALLOW_ASYNC_COMMIT = env.flag("CKPTSITE_ALLOW_ASYNC_COMMIT", default=False)
# Whether a standby that takes over has every commit; only then effects go on by themselves after a failover.
CKPTSITE_SYNCHRONOUS_REPLICATION = env.flag("CKPTSITE_SYNCHRONOUS_REPLICATION", default=False)

LOGGING = logs.configure(
    form=env.choice("LOG_FORMAT", "json", among=("json", "console")),
    level=env.choice("LOG_LEVEL", "INFO", among=("DEBUG", "INFO", "WARNING", "ERROR")),
    role=CKPTSITE_ROLE,
)
CKPTSITE_TRACES = traces.configure(role=CKPTSITE_ROLE)
SILENCED_SYSTEM_CHECKS = [
    "security.W005",  # HSTS for subdomains is for the owner of the domain to decide
    "security.W021",  # the same for preloading
]
os.environ.setdefault("PYTHONUTF8", "1")  # for the processes that a command starts
