"""What the transcript says when a call is closed without being done as proposed."""

from __future__ import annotations


def rejected(who: str, reason: str) -> str:
    """A person refused it."""
    return f"Not done: {who} rejected it. Reason: {reason}" if reason else f"Not done: {who} rejected it."


def expired() -> str:
    """Nobody answered in time."""
    return "Not done: nobody decided before the question expired. It may be asked again."


def stopped(who: str, reason: str) -> str:
    """The run was stopped."""
    return (
        f"Not done: the run was stopped by {who}. Reason: {reason}"
        if reason
        else f"Not done: the run was stopped by {who}."
    )


def outdated() -> str:
    """Its tool promises something else by now."""
    return "Not done: the tool has changed since this was proposed. It may be proposed again, and a person reads it."


def overtaken(who: str, reason: str) -> str:
    """The plan was changed under it."""
    return f"Not done: {who} changed this step of the plan. Reason: {reason}"


def ended(cause: str) -> str:
    """The run failed while this call was open."""
    return f"Not done: the run stopped first ({cause})"


def denied(rule: str) -> str:
    """Policy forbids it."""
    return f"Not done: the policy rule {rule!r} forbids it."


def absorbed() -> str:
    """It stands already."""
    return "Already done by an earlier attempt, and not done again; this is what came of it then."


def absorbed_as_changed(told: str) -> str:
    """It stands as a person has changed it."""
    return f"Already done by an earlier attempt as a person changed it, and not done again. {told}"


def absorbed_as_kept(difference: str) -> str:
    """It stands with other arguments, and a person has kept that."""
    told = "Already done by an earlier attempt, which a person kept in place of just this; not done again."
    return f"{told} Done was, against what you proposed: {difference}."


def kept_before(difference: str) -> str:
    """It is just what was proposed before, when something else was kept in its place."""
    told = "Not done, and not asked again: for exactly this, what was done before was kept."
    return f"{told} Done was, against what you proposed: {difference}."


def simulated(summary: str, verdict: str) -> str:
    """A dry run came here."""
    asked = " A person would have been asked first." if verdict == "review" else ""
    return f"Simulated, nothing was done. {summary}{asked}"


def supposed(*, answered: bool) -> str:
    """A dry run came to a question."""
    if answered:
        return (
            "Simulated: nobody was asked. A person would have answered; this answer, which fits, is supposed."
        )
    return "Simulated: nobody was asked, and no answer is supposed. Go on without it."


def refused_before(who: str, reason: str) -> str:
    """It is just what a person has refused already."""
    return f"Not done, and not asked again: {who} refused exactly this before. Reason: {reason}"


def changed_before(told: str, *, done: bool) -> str:
    """It is just what a person has changed before it was decided."""
    after = "It was done as they changed it." if done else "It was rejected even so."
    return f"Not done, and not asked again: a person changed exactly this before. {after} {told}"


def asked_back(who: str, question: str) -> str:
    """A person asks before they decide."""
    return f"Not done yet: {who} asks: {question} Answer this with your next proposal."


def answered(who: str, remark: str) -> str:
    """A person answered the agent's question."""
    return f"{who} answered. {remark}".rstrip()


def cannot_answer(who: str, reason: str) -> str:
    """A person can't answer the agent's question."""
    return f"No answer: {who} can't answer this. {reason}"


def unanswered() -> str:
    """Nobody answered the agent's question in time."""
    return "No answer: nobody answered before the question expired. Go on without it, or ask again."


def by_hand(who: str, receipt: str) -> str:
    """A person did it."""
    return f"Done: {who} did it by hand. {receipt}"


def kept(who: str, reason: str, difference: str) -> str:
    """What was done before is kept, although other arguments were proposed."""
    told = f"Not done again: {who} kept what was done before; this is what came of it."
    return f"{told} Done was, against what you proposed: {difference}. Reason: {reason}"


def found_after_all() -> str:
    """Evidence came before it was sent again."""
    return "Done: it was found that it had happened the first time. It was not done again."


def happened(who: str) -> str:
    """A person said that it happened."""
    return f"Done: {who} confirmed that it happened."


def left(who: str) -> str:
    """A person said that it didn't happen and shall be left."""
    return f"Not done: {who} found that it did not happen and left it so."


def unknowable(who: str) -> str:
    """A person said that it can't be known."""
    return f"Unknown: {who} said that it can't be known whether this happened. Don't do it again."
