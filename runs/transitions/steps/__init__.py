"""The engine's commits, one file a kind. Each is one transaction that names the claim's fence."""

from runs.transitions.steps import closing as closing
from runs.transitions.steps import plain as plain
from runs.transitions.steps._one import Mark, OneStatement, Taken
from runs.transitions.steps._statement import Claim
from runs.transitions.steps.claim import claim, renew
from runs.transitions.steps.end import cancel, fail, finish
from runs.transitions.steps.fold_in import fold_in
from runs.transitions.steps.handing import HandsTo
from runs.transitions.steps.intent import Intent, Wish, intent
from runs.transitions.steps.lost_calls import book_call
from runs.transitions.steps.park import later, pause, wait
from runs.transitions.steps.plan_reviews import ask_plan
from runs.transitions.steps.plans import Change
from runs.transitions.steps.plans import step as plan_step
from runs.transitions.steps.prepare import Prepared, prepare
from runs.transitions.steps.questions import ask_human
from runs.transitions.steps.receipt import did_not_happen, doubt, happened, read, read_failed, unknown
from runs.transitions.steps.refill import refill
from runs.transitions.steps.renewal import ask_pins, overtake, settle_pins
from runs.transitions.steps.reopen import Opened, Progress, reopen
from runs.transitions.steps.reply import Proposed, Record, Repair, Verdict, reply
from runs.transitions.steps.simulate import Simulated, simulate, suppose
from runs.transitions.steps.summaries import summarise
from runs.transitions.steps.undos import Checked, asked, compensate

__all__ = [
    "Change",
    "Checked",
    "Claim",
    "HandsTo",
    "Intent",
    "Mark",
    "OneStatement",
    "Opened",
    "Prepared",
    "Progress",
    "Proposed",
    "Record",
    "Repair",
    "Simulated",
    "Taken",
    "Verdict",
    "Wish",
    "ask_human",
    "ask_pins",
    "ask_plan",
    "asked",
    "book_call",
    "cancel",
    "claim",
    "compensate",
    "did_not_happen",
    "doubt",
    "fail",
    "finish",
    "fold_in",
    "happened",
    "intent",
    "later",
    "overtake",
    "pause",
    "plan_step",
    "prepare",
    "read",
    "read_failed",
    "refill",
    "renew",
    "reopen",
    "reply",
    "settle_pins",
    "simulate",
    "summarise",
    "suppose",
    "unknown",
    "wait",
]
