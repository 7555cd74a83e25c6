"""Every address of the site."""

from django.contrib import admin
from django.contrib.auth.views import LogoutView
from django.urls import path
from django.views.generic import RedirectView

from ckptsite import health
from runs.api.site import api
from runs.views import (
    accounts,
    answers,
    audit,
    batch,
    bulk_redrives,
    controls,
    desk,
    dossier,
    edits,
    effects,
    events,
    files,
    inbox,
    inspect,
    metrics,
    plans,
    policies,
    redrives,
    reviews,
    run_pages,
    runs,
    settings,
)

urlpatterns = [
    path("", RedirectView.as_view(pattern_name="inbox"), name="home"),
    path("login/", accounts.SignIn.as_view(), name="login"),
    path("logout/", LogoutView.as_view(), name="logout"),
    path("setup/<str:token>/", accounts.setup, name="setup"),
    path("inbox/", inbox.inbox, name="inbox"),
    path("inbox/views/", inbox.save_view, name="view-save"),
    path("inbox/views/<int:view_id>/", inbox.change_view, name="view-change"),
    path("inbox/export.csv", inbox.export, {"form": "csv"}, name="inbox-csv"),
    path("inbox/export.json", inbox.export, {"form": "json"}, name="inbox-json"),
    path("reviews/<int:review_id>/", reviews.review, name="review"),
    path("reviews/<int:review_id>/answer/", answers.answer, name="review-answer"),
    path("reviews/<int:review_id>/edit/", edits.edit, name="review-edit"),
    path("reviews/batch/", batch.batch, name="batch"),
    path("reviews/<int:review_id>/extend/", reviews.extend, name="review-extend"),
    path("reviews/<int:review_id>/withdraw/", reviews.withdraw, name="review-withdraw"),
    path("reviews/<int:review_id>/snooze/", desk.snooze, name="review-snooze"),
    path("reviews/<int:review_id>/wake/", desk.wake, name="review-wake"),
    path("reviews/<int:review_id>/hand-over/", desk.hand_over, name="review-hand-over"),
    path("runs/", runs.runs, name="runs"),
    path("runs/redrive/", bulk_redrives.many, name="runs-redrive"),
    path("runs/<int:run_id>/", run_pages.timeline, name="run"),
    path("runs/<int:run_id>/plan/", run_pages.plan, name="run-plan"),
    path("runs/<int:run_id>/plan/edit/", plans.edit, name="run-plan-edit"),
    path("runs/<int:run_id>/plan/versions/", plans.versions, name="run-plan-versions"),
    path("runs/<int:run_id>/transcript/", run_pages.transcript, name="run-transcript"),
    path("runs/<int:run_id>/effects/", run_pages.effects, name="run-effects"),
    path("runs/<int:run_id>/effects/undo/", effects.undo, name="run-undo"),
    path("runs/<int:run_id>/usage/", run_pages.usage, name="run-usage"),
    path("runs/<int:run_id>/dossier/", dossier.dossier, name="run-dossier"),
    path("runs/<int:run_id>/entries/<int:position>/", run_pages.entry, name="run-entry"),
    path("runs/<int:run_id>/files/<str:sha256>/", files.file, name="run-file"),
    path("runs/<int:run_id>/checkpoints/", inspect.listed, name="run-checkpoints"),
    path("runs/<int:run_id>/checkpoints/<int:number>/", inspect.checkpoint, name="run-checkpoint"),
    path("runs/<int:run_id>/checkpoints/<int:number>/state/", inspect.checkpoint_state, name="run-state"),
    path("runs/<int:run_id>/diff/", inspect.diff, name="run-diff"),
    path("runs/<int:run_id>/pause/", controls.pause, name="run-pause"),
    path("runs/<int:run_id>/resume/", controls.resume, name="run-resume"),
    path("runs/<int:run_id>/retry/", controls.retry, name="run-retry"),
    path("runs/<int:run_id>/stop/", controls.stop, name="run-stop"),
    path("switches/", controls.switch, name="switch"),
    path("runs/<int:run_id>/redrive/", redrives.redrive, name="run-redrive"),
    path("runs/<int:run_id>/separate/", redrives.separate, name="run-separate"),
    path("runs/<int:run_id>/take-over/", redrives.take_over, name="run-take-over"),
    path("compare/", inspect.compare, name="compare"),
    path("audit/", audit.audit, name="audit"),
    path("audit/check/", audit.check, name="audit-check"),
    path("metrics/", metrics.metrics, name="metrics"),
    path("effects/", effects.ledger, name="effects"),
    path("policies/", policies.policy, name="policies"),
    path("policies/edit/", policies.edit, name="policies-edit"),
    path("events/", events.events, name="events"),
    path("settings/", settings.profile, name="settings"),
    path("settings/tokens/", settings.tokens, name="tokens"),
    path("settings/tokens/<int:token_id>/revoke/", settings.revoke, name="token-revoke"),
    path("api/v1/", api.urls),
    path("healthz", health.healthz, name="healthz"),
    path("admin/login/", accounts.admin_login),
    path("admin/", admin.site.urls),
]

handler400 = "runs.views.errors.bad_request"
handler403 = "runs.views.errors.permission_denied"
handler404 = "runs.views.errors.page_not_found"
handler500 = "runs.views.errors.server_error"
