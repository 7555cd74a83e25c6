"""An MCP server without annotations that misbehaves on request: `python -m tests.mcp.odd FOLDER [PORT]`.

What it does is appended to FOLDER/done; FOLDER/words changes what it says of its tools.
"""

import base64
import os
import sys
import time
from pathlib import Path
from typing import Annotated

import pydantic
from mcp.server.mcpserver import Image, MCPServer
from mcp.server.mcpserver.resolve import Elicit, Resolve


class Answer(pydantic.BaseModel):
    """What a person is asked for."""

    sure: bool


def make(folder: Path) -> MCPServer:
    """Return the server; what it does stands in the folder."""
    server = MCPServer("odd")
    words = folder / "words"

    def do(text: str) -> None:
        with (folder / "done").open("a") as out:
            out.write(f"{text}\n")

    @server.tool(description=words.read_text() if words.exists() else "Note a text.")
    def note(text: str) -> str:
        do(text)
        return f"Noted {text}."

    @server.tool()
    def die(text: str) -> str:
        """Note a text and die."""
        do(text)
        os._exit(9)

    @server.tool()
    def hang(text: str) -> str:
        """Note a text and answer nothing for long."""
        do(text)
        time.sleep(30)
        return "Late."

    @server.tool()
    def fail(text: str) -> str:
        """Answer with an error."""
        raise ValueError(f"no {text} here")

    @server.tool()
    def picture(text: str) -> list[str | Image]:
        """Answer with a picture, and with more text than a result holds."""
        dot = base64.b64decode(
            "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
        )
        return [text * 60_000, Image(data=dot, format="png")]

    async def really(text: str) -> Elicit[Answer]:
        return Elicit(f"Really {text}?", Answer)

    @server.tool()
    async def ask(text: str, answer: Annotated[Answer, Resolve(really)]) -> str:
        """Ask a person before noting."""
        do(text)
        return "Noted."

    return server


if __name__ == "__main__":
    there = Path(sys.argv[1])
    if len(sys.argv) > 2:
        make(there).run("streamable-http", port=int(sys.argv[2]))
    else:
        make(there).run("stdio")
