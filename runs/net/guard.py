"""Where a request may go: to a public address over https, looked up once, and to that very address only.

Without this, whoever may name an address could let ckptsite speak to machines that only it can reach.
"""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit

from django.conf import settings

PORTS = frozenset({443, 8443})
_GLOBAL_V6 = ipaddress.IPv6Network("2000::/3")
_TUNNELS = (ipaddress.IPv6Network("2001::/32"), ipaddress.IPv6Network("2002::/16"))
_SPECIAL = (ipaddress.IPv4Network("192.0.0.0/24"), ipaddress.IPv4Network("192.88.99.0/24"))
LONGEST = 500
Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Network = ipaddress.IPv4Network | ipaddress.IPv6Network


class Refused(ValueError):
    """ckptsite sends nothing there; one sentence."""


@dataclass(frozen=True, kw_only=True)
class Target:
    """An address that has been checked: whatever the name leads to later, this is where the request goes."""

    tls: bool
    host: str
    port: int
    path: str
    address: str

    @property
    def named(self) -> str:
        """Return host and port as the Host header has them."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == (443 if self.tls else 80) else f"{host}:{self.port}"


def parsed(url: str) -> tuple[bool, str, int, str]:
    """Return scheme (whether TLS), host, port and path of a URL; refuse (Refused) what is no plain web address."""
    if len(url) > LONGEST or any(not 0x20 < ord(sign) < 0x7F or sign == "\\" for sign in url):
        raise Refused("This is no web address; write it in plain characters, at most 500 of them.")
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        raise Refused("This is no web address.") from None
    if parts.scheme not in {"https", "http"}:
        raise Refused("The address must begin with https://.")
    if not host or parts.username is not None or parts.password is not None or parts.fragment:
        raise Refused(
            "The address must name a host, and neither a user, nor a password, nor a part of a page."
        )
    tls = parts.scheme == "https"
    path = parts.path or "/"
    return tls, host, port or (443 if tls else 80), f"{path}?{parts.query}" if parts.query else path


def resolve(url: str) -> Target:
    """Return where a request to this URL goes. Refuses (Refused) every address that isn't public, in whatever form."""
    tls, host, port, path = parsed(url)
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise LookupError(f"The name {host} leads nowhere: {error}.") from error
    addresses = [ipaddress.ip_address(str(entry[4][0]).partition("%")[0]) for entry in found]
    for address in addresses:
        check(address, tls=tls, port=port)
    return Target(tls=tls, host=host, port=port, path=path, address=str(addresses[0]))


def check(address: Address, *, tls: bool, port: int) -> None:
    """Refuse (Refused) an address that no request may go to."""
    inner = getattr(address, "ipv4_mapped", None) or address
    if _among(inner, settings.CKPTSITE_OUTGOING):  # somebody who owns the machine says so
        if not tls and not inner.is_loopback:
            raise Refused("Without https ckptsite speaks only to its own machine.")
        return
    if not tls:
        raise Refused("The address must begin with https://.")
    if port not in PORTS:
        raise Refused(f"Only the ports {' and '.join(map(str, sorted(PORTS)))} are spoken to, not {port}.")
    if not public(address):
        raise Refused(f"{address} isn't a public address; CKPTSITE_OUTGOING can allow its network.")


def public(address: Address) -> bool:
    """Return whether the address is one of the open internet, and no other one's disguise."""
    if isinstance(address, ipaddress.IPv6Address) and (
        address not in _GLOBAL_V6 or any(address in tunnel for tunnel in _TUNNELS)
    ):
        return (
            False  # mapped, translated and tunnelled addresses lead to an IPv4 address that isn't looked at
        )
    if isinstance(address, ipaddress.IPv4Address) and any(address in network for network in _SPECIAL):
        return False  # for protocols and relays; older Pythons take them for public
    return address.is_global and not address.is_multicast and not address.is_reserved


def _among(address: Address, networks: Sequence[Network]) -> bool:
    return any(address.version == network.version and address in network for network in networks)
