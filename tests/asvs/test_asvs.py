"""OWASP ASVS 5.0, the items claimed: each names the tests that prove it, and these must be there."""

from __future__ import annotations

import ast
import datetime
import json
import logging
import re
from functools import cache
from pathlib import Path

import pytest

from ckptsite import logs

TESTS = Path(__file__).resolve().parent.parent
PROOFS: dict[str, tuple[str, ...]] = {
    "1.3.5 templates and markup of users are never interpreted": (
        "browser/test_hostile.py::test_it_is_text_on_every_page",
        "pages/test_visible.py::test_output_is_harmless_html",
    ),
    "1.3.6 requests go to public addresses only, resolved once": (
        "notices/test_pure.py::test_no_address_but_a_public_one_is_spoken_to",
        "notices/test_pure.py::test_no_form_of_an_address_leads_inside",
        "notices/test_pure.py::test_a_name_is_looked_up_once_and_each_of_its_addresses_counts",
    ),
    "1.5.2 nothing untrusted is deserialised into objects": (
        "attacks/test_limits.py::test_nothing_anywhere_is_unpickled",
    ),
    "2.3.1 steps are taken in their order and none is skipped": (
        "core/test_lifecycle.py",
        "engine/test_gate.py::test_changed_arguments_never_run",
        "attacks/test_attacks.py::test_an_edited_form_names_nobody_else_and_nothing_else",
    ),
    "2.3.2 limits of the business are kept": (
        "rules/test_8_accounts.py",
        "attacks/test_limits.py::test_ten_thousand_questions_of_one_agent_leave_the_inbox_usable",
    ),
    "2.3.3 what belongs together is done whole or not at all": (
        "rules/test_4_commits.py::test_4_2_a_commit_whose_answer_was_lost_doubles_nothing",
        "rules/test_5_batch.py",
    ),
    "2.3.4 nothing is taken twice at once": (
        "harness/test_races.py::test_every_question_has_one_winner",
        "engine/test_gate.py::test_an_approval_is_used_once",
        "rules/test_1_keys.py",
    ),
    "2.3.5 what is final needs another person": (
        "rules/test_5_four_eyes.py::test_5_9_who_began_any_attempt_on_the_path_does_not_release",
        "rules/test_5_quorum.py::test_5_1_two_votes_at_once_reach_the_quorum",
    ),
    "3.4.3 a content security policy without inline or foreign scripts": (
        "asvs/test_asvs.py::test_v3_4_3_the_policy_allows_nothing_but_the_sites_own",
        "browser/test_hostile.py::test_it_is_text_on_every_page",
    ),
    "3.5.1 forms come from the site itself": (
        "attacks/test_attacks.py::test_a_form_is_the_sites_own_and_goes_on_after_a_new_token",
        "pages/test_errors.py::test_every_form_of_every_page_passes_with_its_own_token",
    ),
    "3.5.3 no GET, HEAD or OPTIONS changes anything": (
        "attacks/test_attacks.py::test_no_read_decides_whatever_method_it_claims_to_be",
    ),
    "7.3.1 a session ends when nobody is there": (
        "pages/test_sign_in.py::test_sessions_end_by_their_limits_and_by_hand",
    ),
    "7.3.2 a session ends after its longest time, whatever is done in it": (
        "pages/test_sign_in.py::test_sessions_end_by_their_limits_and_by_hand",
    ),
    "7.4.1 a session that was ended opens nothing": (
        "pages/test_accounts.py::test_in_to_where_one_wanted_to_go_and_out",
    ),
    "7.4.2 whoever is switched off is out of every session": (
        "pages/test_sign_in.py::test_whoever_is_switched_off_or_has_a_new_password_is_out_at_once",
    ),
    "7.4.3 a new password or factor ends the other sessions": (
        "pages/test_sign_in.py::test_whoever_is_switched_off_or_has_a_new_password_is_out_at_once",
        "pages/test_team.py::test_who_lost_their_password_or_phone_begins_anew",
    ),
    "7.4.4 every page leads out": ("asvs/test_asvs.py::test_v7_4_4_each_page_of_who_is_signed_in_leads_out",),
    "7.4.5 an administrator ends somebody's sessions": (
        "pages/test_sign_in.py::test_whoever_is_switched_off_or_has_a_new_password_is_out_at_once",
        "pages/test_team.py::test_who_lost_their_password_or_phone_begins_anew",
    ),
    "7.5.1 who one is is shown anew before one's own sign-in changes": (
        "pages/test_sign_in.py::test_an_app_s_codes_recovery_codes_and_the_trail",
        "pages/test_sign_in.py::test_whoever_is_switched_off_or_has_a_new_password_is_out_at_once",
    ),
    "7.5.2 a person sees their sessions, and ends them once they have shown who they are": (
        "pages/test_sign_in.py::test_sessions_end_by_their_limits_and_by_hand",
    ),
    "7.5.3 what is final asks anew who decides": (
        "pages/test_sign_in.py::test_something_final_asks_again_and_nothing_typed_is_lost",
        "pages/test_single_sign_on.py::test_who_is_asked_again_shows_a_sign_in_there_that_is_new",
    ),
    "8.2.1 functions by role": (
        "pages/test_roles.py::test_every_route_for_every_role",
        "api/test_roles.py::test_every_operation_for_every_role",
    ),
    "8.2.2 objects by person": (
        "pages/test_roles.py::test_what_is_not_there_is_404_for_everybody",
        "attacks/test_attacks.py::test_keys_paths_and_hosts_lead_nowhere",
    ),
    "8.2.3 fields that aren't a form's own are nothing": (
        "attacks/test_attacks.py::test_an_edited_form_names_nobody_else_and_nothing_else",
        "attacks/test_attacks.py::test_an_agents_token_moves_nothing_and_each_try_is_noted",
    ),
    "8.3.1 rights are asked in the transition, not in the page": (
        "rules/test_10_attempts.py::test_10_4_each_act_leaves_one_line_and_each_refusal_one_attempt",
        "api/test_tokens.py::test_a_program_never_decides_and_opens_no_page",
    ),
    "8.3.2 a right that is taken away counts at once": (
        "engine/test_gate.py::test_a_revoked_approver_stops_the_effect",
        "rules/test_5_quorum.py::test_5_1_a_voter_without_the_right_at_the_start_does_not_count",
        "api/test_tokens.py::test_a_revoked_token_takes_its_approvals_back",
    ),
    "8.3.3 a program has no more rights than its person": (
        "api/test_tokens.py::test_a_token_is_never_more_than_its_person",
    ),
    "8.4.1 what is another project's isn't there": (
        "pages/test_scope.py::test_what_is_outside_of_somebodys_scope_is_not_there_on_any_route",
    ),
    "8.4.2 administration has no door of its own": (
        "pages/test_accounts.py::test_the_admin_has_no_sign_in_of_its_own",
        "pages/test_accounts.py::test_the_admin_changes_people_and_only_reads_runs",
    ),
    "13.2.4 what is spoken to outside is on a list": (
        "notices/test_pure.py::test_one_post_and_nothing_else",
        "notices/test_slack.py::test_an_answer_goes_only_to_slack",
    ),
    "15.4.2 checked and used in one step": (
        "rules/test_2_switches.py::test_2_2_no_intent_after_pause_all_is_acknowledged",
        "engine/test_gate.py::test_a_tightened_policy_stops_what_was_approved",
        "harness/test_races.py::test_2_2_after_the_acknowledgement_no_effect_starts",
    ),
    "16.2.1 each line says who, what, when and from where": (
        "rules/test_10_attempts.py::test_10_4_each_act_leaves_one_line_and_each_refusal_one_attempt",
    ),
    "16.2.2 times are the database's, in UTC": (
        "asvs/test_asvs.py::test_v16_2_log_lines_are_read_by_machines",
    ),
    "16.2.3 log lines go to one place": ("asvs/test_asvs.py::test_v16_2_log_lines_are_read_by_machines",),
    "16.2.4 log lines are of one form that a machine reads": (
        "asvs/test_asvs.py::test_v16_2_log_lines_are_read_by_machines",
    ),
    "16.2.5 no secret is logged": ("rules/test_10_secrets.py::test_10_a_planted_secret_is_found_nowhere",),
    "16.3.1 who signs in, and who fails to, is noted": (
        "rules/test_10_turned_away.py::test_who_is_turned_away_at_a_page_is_noted",
    ),
    "16.3.2 refused attempts are noted": (
        "attacks/test_attacks.py::test_a_viewer_moves_nothing_and_each_try_is_noted",
        "attacks/test_attacks.py::test_an_agents_token_moves_nothing_and_each_try_is_noted",
    ),
    "16.3.3 attempts to get around a control are noted": (
        "attacks/test_attacks.py::test_a_form_is_the_sites_own_and_goes_on_after_a_new_token",
        "attacks/test_limits.py::test_who_asks_too_often_waits_and_is_noted_once_a_minute",
    ),
    "16.3.4 what fails unexpectedly is noted": (
        "pages/test_errors.py::test_a_mistake_of_ours_is_500_and_says_so",
        "core/test_logs.py::test_a_traceback_names_the_place_and_no_values",
    ),
    "16.4.1 nothing in a log passes for another line": (
        "core/test_logs.py::test_a_traceback_names_the_place_and_no_values",
    ),
    "16.4.2 the record can't be changed unseen": (
        "core/test_tampering.py::test_a_thousand_changes_of_the_chains_are_found_a_thousand_times",
        "core/test_tampering.py::test_web_and_worker_can_work_as_a_role_that_rewrites_nothing",
    ),
    "16.4.3 the record's head is kept elsewhere": (
        "rules/test_10_chains.py::test_10_3_a_tail_cut_off_with_its_head_row_is_found_by_a_head_kept_elsewhere",
    ),
    "16.5.1 an error says nothing of the inside": (
        "pages/test_errors.py::test_a_mistake_of_ours_is_500_and_says_so",
    ),
    "16.5.2 it goes on when something outside is away": (
        "pages/test_errors.py::test_a_database_that_is_away_is_503_with_a_time_to_come_back",
        "notices/test_outbox.py::test_a_mail_server_that_dies_loses_nothing_and_doubles_only_the_same_event",
    ),
    "16.5.3 whatever goes wrong releases nothing": (
        "attacks/test_attacks.py::test_an_edited_form_names_nobody_else_and_nothing_else",
        "test_cel.py",
        "pages/test_bad_input.py::test_nothing_that_is_sent_is_a_fault",
    ),
    "16.5.4 nothing goes wrong unseen": (
        "pages/test_errors.py::test_a_mistake_of_ours_is_500_and_says_so",
        "engine/test_failures.py::test_a_fault_of_the_engine_is_counted_and_ends_in_a_review",
    ),
}
"""Of 8.2 this list doesn't claim 8.2.4: rights don't depend on where somebody sits."""


@cache
def proofs_in(file: str) -> frozenset[str]:
    """Return the names of the tests of a file."""
    tree = ast.parse((TESTS / file).read_text())
    return frozenset(
        node.name for node in tree.body if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")
    )


@pytest.mark.parametrize("item", PROOFS)
def test_v(item: str) -> None:
    """The tests that prove the item are there."""
    missing = []
    for proof in PROOFS[item]:
        file, _, name = proof.partition("::")
        if not ({name} <= proofs_in(file) if name else proofs_in(file)):
            missing.append(proof)
    assert missing == []


def test_v3_4_3_the_policy_allows_nothing_but_the_sites_own() -> None:
    from django.conf import settings

    rules = settings.CONTENT_SECURITY_POLICY["DIRECTIVES"]
    said = {name: {str(source).strip("'") for source in sources} for name, sources in rules.items()}
    for name in ("default-src", "object-src", "base-uri", "frame-ancestors"):
        assert said.pop(name) == {"none"}, name
    assert said.pop("img-src") == {"self", "data:"}
    assert set().union(*said.values()) == {"self"}


BARE = {"base.html", "base_bare.html", "base_error.html"}


def test_v7_4_4_each_page_of_who_is_signed_in_leads_out() -> None:
    """Each page is drawn inside the frame that holds the way out, or is for somebody who isn't signed in."""
    folder = TESTS.parent / "templates"
    frames = {}
    for file in folder.rglob("*.html"):
        found = re.match(r"\s*{% extends \"([^\"]+)\"", file.read_text())
        frames[str(file.relative_to(folder))] = found[1] if found else ""
    frames["base.html"] = ""
    frame = (folder / "base.html").read_text()
    assert re.search(r"<form[^>]*action=\"{% url 'logout' %}\"", frame)

    def outermost(name: str) -> str:
        return outermost(frames[name]) if frames[name] else name

    pages = {name for name in frames if not any(part.startswith("_") for part in name.split("/"))} - BARE
    outside = {name for name in pages if outermost(name) != "base.html"}
    errors = {f"{code}.html" for code in (400, 403, 404, 405, 409, 410, 422, 429, 500, 503)} | {
        "403_csrf.html"
    }
    signing_in = {"sign_in/sign_in.html", "sign_in/second_factor.html", "setup.html", "join.html"}
    assert outside <= errors | signing_in


def test_v16_2_log_lines_are_read_by_machines() -> None:
    """One place, one JSON object a line, its time in UTC with its offset; the database's times are kept so too."""
    from django.conf import settings

    said = logs.configure(form="json", level="INFO", role="web")
    assert list(said["handlers"]) == ["stderr"]
    assert {name for logger in said["loggers"].values() for name in logger.get("handlers", [])} == set()
    formatter = said["formatters"]["lines"]
    made = formatter.pop("()")(
        processors=formatter["processors"], foreign_pre_chain=formatter["foreign_pre_chain"]
    )
    line = made.format(logging.LogRecord("runs.test", logging.INFO, "x", 1, "one\nline", None, None))
    assert "\n" not in line
    told = json.loads(line)
    assert (told["event"], told["role"], told["level"], told["logger"]) == (
        "one\nline",
        "web",
        "info",
        "runs.test",
    )
    assert datetime.datetime.fromisoformat(told["timestamp"]).utcoffset() == datetime.timedelta(0)
    assert settings.USE_TZ
