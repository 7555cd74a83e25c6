"""`webhook.send` and `webhook.send_once`: a signed request to an endpoint that the administrator has named.

It is signed as Standard Webhooks has it, like the notices. Its `webhook-id` is made from the key and the same at each
send, so that a receiver which keeps them (as that standard asks) does it once; only for such endpoints, configured with
`once`, there is `webhook.send_once`.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from datetime import timedelta
from typing import Annotated, Any

import pydantic

from runs import exact
from runs.net import http, signing
from runs.tools import configured, contract, registry, workspace
from runs.tools.http import REFUSED, REPEATED

MOST = 64 * 1024


class SendArguments(contract.Arguments):
    """What is told to whom. The reference says which telling it is: two with the same reference are the same one."""

    endpoint: configured.Name
    event: str = pydantic.Field(
        pattern=r"^[a-z0-9_]+(\.[a-z0-9_]+)*$", max_length=100, examples=["invoice.paid"]
    )
    data: dict[str, Any] = pydantic.Field(default_factory=dict)
    reference: Annotated[str, pydantic.Field(min_length=1, max_length=120, pattern=r"^\S(.*\S)?$")]


class Send(contract.Tool):
    """Send a signed request to an endpoint. If its answer is lost, only a person can find out."""

    name = "webhook.send"
    title = "Send a signed request"
    effect = contract.Effect.IRREVERSIBLE
    tier = 2
    timeout = timedelta(seconds=30)
    identity = ("endpoint", "event", "reference")
    decisive = ("endpoint", "event")
    Arguments = SendArguments

    def endpoints(self) -> Mapping[str, configured.Webhook]:
        """Return the endpoints that this tool may send to."""
        return configured.tools().webhooks

    def run(self, args: SendArguments, ctx: contract.Context) -> contract.Receipt:
        """Return what was answered. Refuses DidNotHappen what wasn't sent, or what the endpoint says it hasn't done."""
        known = self.endpoints().get(args.endpoint)
        if known is None:
            reason = f"{self.name} knows no endpoint {args.endpoint!r}; an administrator can add it."
            raise contract.DidNotHappen(reason)
        body = exact.canonical({"type": args.event, "data": args.data}, limit=None).encode("ascii")
        try:
            headers = signing.headers(
                [configured.value(known.secret, ctx)],
                event=f"msg_{workspace.stem(ctx.idempotency_key)}",
                timestamp=int(time.time()),
                body=body,
            )
            answer = http.send(
                "POST", known.url, headers=headers, body=body, within=ctx.remaining(), most=MOST
            )
        except ValueError as error:
            raise contract.DidNotHappen("The endpoint's secret is none: it begins with whsec_.") from error
        except http.NotSent as error:
            raise contract.DidNotHappen(error.why, retryable=not error.refused) from error
        said = f"{args.endpoint} answered {answer.status} to {args.event}."
        if 200 <= answer.status < 300:
            return contract.Receipt(summary=said, value={"status": answer.status})
        if answer.status in REFUSED and not (answer.status in REPEATED and ctx.attempt > 1):
            raise contract.DidNotHappen(said, retryable=answer.status == 429)
        raise http.NoAnswer(said)

    def preview(self, args: SendArguments, ctx: contract.Context) -> contract.Preview:
        """Return what is told to whom."""
        known = self.endpoints().get(args.endpoint)
        return contract.Preview(
            summary=f"Tell {args.endpoint} of {args.event}.",
            target=args.endpoint,
            facts=(
                ("Endpoint", args.endpoint),
                ("Address", known.url if known else "not configured"),
                ("Event", args.event),
                ("Reference", args.reference),
            ),
            reversal="ckptsite can't take it back.",
            body=exact.canonical(args.data, limit=None),
        )

    def identity_of(self, args: SendArguments) -> Any:
        """Return endpoint, event and reference, the reference without regard to case and spacing."""
        reference = " ".join(args.reference.split()).casefold()
        return {"endpoint": args.endpoint, "event": args.event, "reference": reference}


class SendOnce(Send):
    """Send a signed request to an endpoint that does one webhook-id once, so that it can be sent again."""

    name = "webhook.send_once"
    title = "Send a signed request that is done once"
    protection = contract.Protection.IDEMPOTENT

    def endpoints(self) -> Mapping[str, configured.Webhook]:
        """Return the endpoints that are configured as doing one webhook-id once."""
        return {name: one for name, one in configured.tools().webhooks.items() if one.once}


def _offer() -> None:
    known = configured.tools().webhooks.values()
    hours = min((one.once for one in known if one.once), default=24)
    registry.offer(Send, on=bool(known), how="Name an endpoint, as in [webhooks.orders] url and secret.")
    how = "Say for how many hours an endpoint does one webhook-id once, with once in [webhooks.orders]."
    registry.offer(SendOnce, on=any(one.once for one in known), how=how, key_window=timedelta(hours=hours))


_offer()
