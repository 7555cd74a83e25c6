"""What people do at the desk: change arguments and plans, answer agents, go on from checkpoints, take effects back."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import precondition, rule

from runs import exact, lifecycle, models
from runs.transitions import answers, branches, edits, plan_edits, redrives, undos
from runs.transitions.steps import plans
from tests.harness.machine_base import Base, numbers, which

WAYS = ("kept", "corrected", redrives.UNDO_FIRST, redrives.AGAIN)
"""What becomes, in a new attempt, of what was done: absorbed; absorbed, with more to do; taken back; done again."""
ACTS = (*WAYS, "edits", "plans", "tried out", "taken over", "taken back", "told")
BRANCHES = 3
"""So many attempts and dry runs beside the works that were started."""


class Desk(Base):
    """Adds these acts; the same invariants judge them."""

    @rule(index=which, letter=st.sampled_from("abc"))
    def edit_arguments(self, index: int, letter: str) -> None:
        """Somebody lets the same be done to another; or to the same once more, which a person is told."""
        review = self._open(index, lifecycle.ReviewKind.ACTION)
        if review is None or review.action is None or review.action.undo_of_id is not None:
            return
        name = review.action.arguments()["name"].rpartition("-")[0] + f"-{letter}"
        edit = edits.Edit(
            arguments={"name": name}, reason="it is another one", revision=review.revision, digest=review.digest,
            token=f"edit-{next(numbers)}",
        )  # fmt: skip
        self._did("edits", lambda: edits.edit(review.pk, edit, by=self.stage.reviewers[0]))

    @rule(index=which, act=st.sampled_from((answers.KEEP, answers.UNDO, answers.ASK_BACK)))
    def answer_otherwise(self, index: int, act: str) -> None:
        """Neither yes nor no: it was done before; that is taken back first; or a question to the agent."""
        review = self._open(index, lifecycle.ReviewKind.ACTION)
        if review is not None and act in answers.offered(review):
            done = answers.done_before(review)
            more: dict[str, Any] = {"which": done[0]} if act != answers.ASK_BACK and len(done) > 1 else {}
            self._try(lambda: self._send(review, act, self.stage.reviewers[index % 2], **more))

    @rule(index=which)
    def answer_question(self, index: int) -> None:
        review = self._open(index, lifecycle.ReviewKind.QUESTION)
        if review is not None:
            self.tell(review)

    def tell(self, review: models.Review) -> None:
        """Answer what an agent asks; every third time nobody can."""
        by = self.stage.reviewers[0]
        if review.pk % 3:
            self._did("told", lambda: self._send(review, answers.ANSWER, by, value=exact.canonical("so")))
        else:
            self._did("told", lambda: self._send(review, answers.CANNOT, by))

    @rule(index=which, at=which, act=st.sampled_from(("swap", "drop", "call otherwise")))
    def change_plan(self, index: int, at: int, act: str) -> None:
        """Somebody moves a step on, takes one out, or calls one otherwise, where the run is at rest."""
        run = self._run(index)
        steps = plans.definitions(run)
        if len(steps) < 2:
            return
        at %= len(steps) - 1
        match act:
            case "swap":
                steps[at], steps[at + 1] = steps[at + 1], steps[at]
            case "drop":
                del steps[at]
            case _:
                steps[at]["title"] = f"{steps[at]['title'][:100]}, as asked {next(numbers)}"
        edit = plan_edits.Edit(base=run.plan_version, steps=steps, reason="it is better so")
        self._did("plans", lambda: plan_edits.save(run.pk, edit, by=self.stage.operator))

    @precondition(lambda self: len(self.runs) < self.works + BRANCHES)
    @rule(index=which, at=st.integers(min_value=1, max_value=30), way=st.sampled_from(WAYS))
    def go_on(self, index: int, at: int, way: str) -> None:
        """A new attempt takes the place of the one there is; once that is acknowledged, the old one starts nothing."""
        run = self._run(index)
        if not run.checkpoint_number:
            return
        old = models.Run.objects.filter(root=run.root_id, mode="live", superseded_by__isnull=True).first()
        more: dict[str, Any] = {}
        if way == "corrected":
            more["input"] = {**run.input, "lookup": [*run.input["lookup"], f"{run.root_id}-again-c"]}
        elif way != "kept":
            standing = models.Occurrence.objects.filter(root=run.root_id, state=lifecycle.Occurrence.STANDING)
            chosen = standing.filter(owner__undo_of__isnull=True).order_by("pk")[:1]
            more["dispositions"] = {row.pk: way for row in chosen}
        made: list[models.Run] = []
        if self._did(way, lambda: made.append(self._redriven(run, at, **more))) and old is not None:
            self.watch.halted.add(old.pk)
            self.runs += [new.pk for new in made]
            self._check()

    def _redriven(self, run: models.Run, at: int, **more: Any) -> models.Run:
        number = 1 + at % run.checkpoint_number
        return redrives.redrive(
            run.pk, checkpoint=number, reason="once more", by=self.stage.operator, token=f"on-{next(numbers)}", **more
        )  # fmt: skip

    @precondition(lambda self: len(self.runs) < self.works + BRANCHES)
    @rule(index=which, at=st.integers(min_value=1, max_value=30))
    def try_out(self, index: int, at: int) -> None:
        """A dry run beside it, which does nothing; where there is one, it is taken over."""
        run, by = self._run(index), self.stage.operator
        token = f"try-{next(numbers)}"
        made: list[models.Run] = []
        tried = models.Run.objects.filter(root=run.root_id, mode="dry_run").order_by("-pk").first()
        old = models.Run.objects.filter(root=run.root_id, mode="live", superseded_by__isnull=True).first()
        if tried is not None:
            taken = self._did(
                "taken over",
                lambda: made.append(branches.take_over(tried.pk, reason="it was good", by=by, token=token)),
            )
            if taken and old is not None:
                self.watch.halted.add(old.pk)
        elif run.checkpoint_number:
            number = 1 + at % run.checkpoint_number
            self._did(
                "tried out",
                lambda: made.append(
                    branches.fork(run.pk, checkpoint=number, reason="to see", by=by, token=token)
                ),
            )
        self.runs += [new.pk for new in made]
        self._check()

    @rule(index=which)
    def take_back(self, index: int) -> None:
        """Somebody wants an effect undone: by the live attempt, or by a new run of one step."""
        standing = models.Occurrence.objects.filter(
            root_id__in=self.runs, state=lifecycle.Occurrence.STANDING, owner__undo_of__isnull=True
        )
        rows = list(standing.order_by("pk"))
        if not rows:
            return
        row, by, token = rows[index % len(rows)], self.stage.operator, f"undo-{next(numbers)}"
        made: list[models.Run] = []
        if self._did(
            "taken back", lambda: made.append(undos.ask(row.pk, reason="wrong", by=by, token=token))
        ) and made[0].pk not in self.runs:  # fmt: skip
            self.runs.append(made[0].pk)
            self._check()
