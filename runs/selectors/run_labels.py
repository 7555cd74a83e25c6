"""Words, tones and icons for what a line of the log can say."""

from __future__ import annotations

from runs import lifecycle

GOOD, BAD, ASK, BUSY, DOUBT, QUIET = "good", "bad", "ask", "busy", "doubt", "quiet"
AGENT, TOOL, PERSON, SYSTEM = "agent", "tool", "person", "system"

RESULTS: dict[str, tuple[str, str]] = {
    lifecycle.Action.SUCCEEDED: (GOOD, "circle-check"),
    lifecycle.Action.ABSORBED: (GOOD, "layers"),
    lifecycle.Action.DENIED: (BAD, "ban"),
    lifecycle.Action.REJECTED: (BAD, "circle-x"),
    lifecycle.Action.EXPIRED: (QUIET, "clock"),
    lifecycle.Action.SUPERSEDED: (QUIET, "skip-forward"),
    lifecycle.Action.FAILED: (BAD, "circle-alert"),
    lifecycle.Action.ABANDONED: (DOUBT, "circle-question-mark"),
    lifecycle.Action.SIMULATED: (BUSY, "eye"),  # what a dry run is made for, so it is no routine
}

NOTES: dict[str, tuple[str, str, str]] = {
    "hold": ("Paused", "circle-pause", QUIET),
    "resume": ("Resumed", "circle-play", QUIET),
    "stop": ("Stop asked", "circle-stop", BAD),
    "retry": ("Tried again", "rotate-ccw", ASK),
    "decision": ("A decision that came too late", "shield", QUIET),
    "expired": ("A question expired after it was closed", "clock", QUIET),
    "evidence": ("Evidence about something already settled", "info", QUIET),
    "withdrawn": ("Taken back too late", "undo-2", QUIET),
    "go_on": ("Let it go on with what is installed now", "play", ASK),
    "pins_back": ("What it started with is installed again", "circle-check", QUIET),
    "plan_edit": ("Changed the plan", "list-todo", ASK),
    "wake": ("Woken", "activity", QUIET),
    "read": ("Read what was left for it", "info", QUIET),
    "redriven": ("Took over from an earlier attempt", "rotate-ccw", ASK),
    "forked": ("Tries it out from a checkpoint; nothing goes out", "eye", QUIET),
    "separated": ("Began separate work from a checkpoint", "layers", ASK),
    "undoing": ("Began in order to take back one effect", "undo-2", ASK),
    "repair": ("The model's reply could not be used; it was told why", "info", QUIET),
    "begun": ("Went on from the checkpoint", "play", QUIET),
}

CONTROLS = {"plan": "a new plan", "finish": "to end the run", "ask_human": "to ask a person"}

ENDS: dict[str, tuple[str, str, str]] = {
    lifecycle.Run.SUCCEEDED: ("Done", "circle-check", GOOD),
    lifecycle.Run.FAILED: ("Failed", "circle-alert", BAD),
    lifecycle.Run.CANCELLED: ("Stopped", "circle-stop", BAD),
}

STEPS: dict[str, str] = {
    lifecycle.Step.PENDING: "To do again",
    lifecycle.Step.SKIPPED: "Skipped",
    lifecycle.Step.DONE: "Done",
    lifecycle.Step.FAILED: "Failed",
    lifecycle.Step.REFUSED: "Not done",
}
