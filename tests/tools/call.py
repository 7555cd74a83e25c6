"""What a tool sees of a call, as a test gives it."""

import hashlib
import time
from dataclasses import dataclass, field

from runs.tools import contract


@dataclass
class Call:
    """The tool contract's Context, with files given by content."""

    idempotency_key: str = "key-1"
    seconds: float = 10.0
    run_id: int = 1
    attempt: int = 1
    files: dict[str, bytes] = field(default_factory=dict)
    started: float = field(default_factory=time.monotonic)

    def remaining(self) -> float:
        return max(0.0, self.started + self.seconds - time.monotonic())

    def read(self, ref: contract.FileRef) -> bytes:
        if ref.sha256 not in self.files:
            raise FileNotFoundError(ref.path)
        return self.files[ref.sha256]

    def secret(self, name: str) -> str:
        """Nothing is kept here."""
        raise PermissionError(name)

    def attach(self, name: str, content: bytes) -> contract.FileRef:
        return contract.FileRef(**self.keep(content, name))

    def keep(self, content: bytes, path: str = "open.csv") -> dict[str, str]:
        sha256 = hashlib.sha256(content).hexdigest()
        self.files[sha256] = content
        return {"path": path, "sha256": sha256}
