"""The tables of ckptsite, one subject a file."""

from runs.models.account import Account
from runs.models.action import Action, Revision
from runs.models.agent import Agent, AgentVersion
from runs.models.api import ApiCall, ApiToken
from runs.models.audit import AuditEvent, AuditHead, Refusal
from runs.models.blob import Blob
from runs.models.chain_check import ChainCheck
from runs.models.day_budget import DayBudget
from runs.models.desk import Handover, SavedView, Snooze
from runs.models.imported import ImportedLine, ImportedRun
from runs.models.installation import Installation
from runs.models.log import Checkpoint, Entry, Fact
from runs.models.mcp import McpLook, McpTool
from runs.models.memory import MemoryNote, MemoryVersion
from runs.models.notice import Delivery, Endpoint, Notice, NoticeSettings, SlackLink
from runs.models.occurrence import Evidence, Occurrence
from runs.models.pins import Contract, Pins
from runs.models.plan import Plan, PlanStep
from runs.models.policy import Policy, PolicyVersion
from runs.models.rehearsal import Rehearsal
from runs.models.review import Decision, Review
from runs.models.run import Run
from runs.models.scopes import Scope
from runs.models.secret import Secret
from runs.models.session import Session
from runs.models.team import Delegation, Invitation, Shift
from runs.models.tenure import Tenure
from runs.models.tombstone import Tombstone
from runs.models.user import User
from runs.models.verification import Verification
from runs.models.words import Words

__all__ = [
    "Account",
    "Action",
    "Agent",
    "AgentVersion",
    "ApiCall",
    "ApiToken",
    "AuditEvent",
    "AuditHead",
    "Blob",
    "ChainCheck",
    "Checkpoint",
    "Contract",
    "DayBudget",
    "Decision",
    "Delegation",
    "Delivery",
    "Endpoint",
    "Entry",
    "Evidence",
    "Fact",
    "Handover",
    "ImportedLine",
    "ImportedRun",
    "Installation",
    "Invitation",
    "McpLook",
    "McpTool",
    "MemoryNote",
    "MemoryVersion",
    "Notice",
    "NoticeSettings",
    "Occurrence",
    "Pins",
    "Plan",
    "PlanStep",
    "Policy",
    "PolicyVersion",
    "Refusal",
    "Rehearsal",
    "Review",
    "Revision",
    "Run",
    "SavedView",
    "Scope",
    "Secret",
    "Session",
    "Shift",
    "SlackLink",
    "Snooze",
    "Tenure",
    "Tombstone",
    "User",
    "Verification",
    "Words",
]
