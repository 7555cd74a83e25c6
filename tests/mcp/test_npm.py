"""The protocol's own servers for files and memory, which run on Node: on demand, `CKPTSITE_NPM=1`.

They are installed from the npm registry into a folder of the test.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from runs.engine import verifier
from tests.engine.conftest import answer, go, only_review
from tests.mcp.test_mcp import READ, accept, results, reviewer, start
from tests.mcp.test_mcp import site as site

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.skipif(not os.environ.get("CKPTSITE_NPM"), reason="on demand: CKPTSITE_NPM=1"),
]
PACKAGES = ("@modelcontextprotocol/server-filesystem", "@modelcontextprotocol/server-memory")


def test_files_and_memory(site: Callable[..., str], tmp_path: Path) -> None:
    subprocess.run(["npm", "install", "--silent", "--prefix", str(tmp_path / "npm"), *PACKAGES], check=True)
    programs, folder = tmp_path / "npm" / "node_modules" / ".bin", tmp_path / "folder"
    folder.mkdir()
    (folder / "in.txt").write_text("Dear Ann")
    site(
        files={"command": str(programs / "mcp-server-filesystem"), "args": [str(folder)],
               "tools": {"read_text_file": READ, "write_file": {"identity": ["path"], "decisive": ["path"]}}},
        memory={"command": str(programs / "mcp-server-memory"),
                "env": {"MEMORY_FILE_PATH": str(tmp_path / "memory.jsonl")},
                "tools": {"read_graph": READ, "create_entities": {"effect": "reversible", "tier": 1}}},
    )  # fmt: skip
    accept("mcp.files.read_text_file", "mcp.files.write_file", "mcp.memory.create_entities",
           "mcp.memory.read_graph")  # fmt: skip
    ann = {"name": "Ann", "entityType": "customer", "observations": ["pays late"]}
    run = go(
        start(
            ("mcp.files.read_text_file", {"path": str(folder / "in.txt")}),
            ("mcp.memory.create_entities", {"entities": [ann]}),
            ("mcp.memory.read_graph", {}),
            ("mcp.files.write_file", {"path": str(folder / "out.txt"), "content": "Dear Bert"}),
        )
    )
    read, _, graph = results(run)[:3]
    assert "Dear Ann" in read[2]["text"]
    assert "pays late" in graph[2]["text"]
    assert not (folder / "out.txt").exists()
    answer(only_review(run), reviewer(), "approve")
    assert go(run).status == "succeeded", results(run)
    assert (folder / "out.txt").read_text() == "Dear Bert"
    verifier.verify()
