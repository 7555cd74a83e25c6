"""Proving that a tool's declared protection is true: for the authors of tools.

`prove(tool, arguments, world=...)` carries the tool's effect out again and again in processes that are killed at every
line of its own code, recovers as the engine would, and counts from outside what stands in the world.
`runs.testing.plugin` gives the same as pytest fixtures.
"""

from runs.testing.proof import Proof as Proof
from runs.testing.proof import Untrue as Untrue
from runs.testing.proof import World as World
from runs.testing.proof import prove as prove
