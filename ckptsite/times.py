"""Times of engine and desk in seconds, and a few counts, from the environment."""

from ckptsite import env

TIMES: dict[str, float] = {
    "LEASE": env.seconds("CKPTSITE_LEASE", 15.0, minimum=0.05),
    "HEARTBEAT": env.seconds("CKPTSITE_HEARTBEAT", 5.0, minimum=0.05),
    "MARGIN": env.seconds("CKPTSITE_MARGIN", 5.0, minimum=0.05),
    "CLOCK": env.seconds("CKPTSITE_CLOCK", 1.0, minimum=0.05),
    "SLICE": env.seconds("CKPTSITE_SLICE", 20.0, minimum=0.05),
    "READ_TIMEOUT": env.seconds("CKPTSITE_READ_TIMEOUT", 30.0, minimum=0.05),
    "EFFECT_TIMEOUT": env.seconds("CKPTSITE_EFFECT_TIMEOUT", 30.0, minimum=0.05),
    "MODEL_TIMEOUT": env.seconds("CKPTSITE_MODEL_TIMEOUT", 120.0, minimum=0.05),
    "SETTLE": env.seconds("CKPTSITE_SETTLE", 60.0),
    "SLOTS": env.integer("CKPTSITE_SLOTS", 2, minimum=1),
    "POISON": env.integer("CKPTSITE_POISON", 5, minimum=1),
    "MAX_SENDS": env.integer("CKPTSITE_MAX_SENDS", 3, minimum=1),
    "BREAK_GLASS": env.flag("CKPTSITE_BREAK_GLASS", default=False),
    "PENDING_RUN": env.integer("CKPTSITE_PENDING_RUN", 100, minimum=1),
    "PENDING_AGENT": env.integer("CKPTSITE_PENDING_AGENT", 500, minimum=1),
    "REVIEW_EXPIRES": env.seconds("CKPTSITE_REVIEW_EXPIRES", 86_400.0, minimum=0.05),
    "REVIEW_DUE": env.seconds("CKPTSITE_REVIEW_DUE", 14_400.0, minimum=0.05),
    "HOLD_REMIND": env.seconds("CKPTSITE_HOLD_REMIND", 86_400.0),
    "READY_DUE": env.seconds("CKPTSITE_READY_DUE", 300.0, minimum=1.0),
    "READY_CLOCK": env.seconds("CKPTSITE_READY_CLOCK", 60.0, minimum=1.0),
    "READY_BROKER": env.flag("CKPTSITE_READY_BROKER", default=False),
    "SESSION_MAX": env.seconds("CKPTSITE_SESSION_MAX", 43_200.0, minimum=60.0),
    "SESSION_IDLE": env.seconds("CKPTSITE_SESSION_IDLE", 3600.0, minimum=60.0),
    "STEP_UP": env.seconds("CKPTSITE_STEP_UP", 900.0, minimum=1.0),
    "ANCHOR": env.seconds("CKPTSITE_ANCHOR", 60.0, minimum=0.05),
    "EXPORT": env.seconds("CKPTSITE_EXPORT", 3600.0, minimum=0.05),
    "NOTICE_RETRY": env.seconds("CKPTSITE_NOTICE_RETRY", 10.0, minimum=0.05),
    "NOTICE_TRIES": env.integer("CKPTSITE_NOTICE_TRIES", 10, minimum=1),
    "UNDO_WINDOW_1": env.seconds("CKPTSITE_UNDO_WINDOW_1", 0.0),
    "UNDO_WINDOW_2": env.seconds("CKPTSITE_UNDO_WINDOW_2", 10.0),
    "UNDO_WINDOW_3": env.seconds("CKPTSITE_UNDO_WINDOW_3", 30.0),
    # Days after its end for which `manage.py prune` keeps each part of a lineage; 0 keeps it for ever.
    "KEEP_PAYLOADS": env.integer("CKPTSITE_KEEP_PAYLOADS", 0),
    "KEEP_TIMELINE": env.integer("CKPTSITE_KEEP_TIMELINE", 0),
    "KEEP_RECEIPTS": env.integer("CKPTSITE_KEEP_RECEIPTS", 0),
}
if TIMES["HEARTBEAT"] >= TIMES["LEASE"]:
    raise env.EnvError(
        "CKPTSITE_HEARTBEAT must be shorter than CKPTSITE_LEASE, or every lease would run out."
    )
_shorter = 0.0
for _name in ("KEEP_PAYLOADS", "KEEP_TIMELINE", "KEEP_RECEIPTS"):
    if _name == "KEEP_RECEIPTS" and TIMES[_name] and not TIMES["KEEP_TIMELINE"]:
        raise env.EnvError("CKPTSITE_KEEP_RECEIPTS needs CKPTSITE_KEEP_TIMELINE: receipts outlive the log.")
    if TIMES[_name] and TIMES[_name] < _shorter:
        raise env.EnvError(f"CKPTSITE_{_name} must not be shorter than what is erased before it.")
    _shorter = max(_shorter, TIMES[_name])
