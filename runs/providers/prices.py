"""What a model's tokens cost, from the table of `genai-prices`; None, never 0, where it doesn't know the model."""

from __future__ import annotations

from typing import Any


def cost_micro(vendor: str, model: str, usage: Any) -> int | None:
    """Return the price of a usage in millionths of a US dollar, rounded up; None if nobody knows it.

    `usage` has the attributes that the table asks for (input_tokens, output_tokens, cache_read_tokens, ...).
    """
    from genai_prices import calc_price  # noqa: PLC0415 only those who ask a model have it

    try:
        price = calc_price(usage, model, provider_id=vendor).total_price
    except LookupError:
        return None
    return -int(-(price * 1_000_000) // 1)


def of_tokens(vendor: str, model: str, *, tokens_in: int, tokens_out: int) -> int | None:
    """Return the most that so many tokens cost: none of them from a cache, and Anthropic's put into one."""
    from genai_prices import Usage  # noqa: PLC0415 as above

    written = tokens_in if vendor == "anthropic" else 0
    usage = Usage(input_tokens=tokens_in, cache_write_tokens=written, output_tokens=tokens_out)
    return cost_micro(vendor, model, usage)
