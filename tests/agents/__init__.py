"""Agents as files, their pages and their versions."""
