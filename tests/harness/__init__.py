"""The crash harness: the real engine on a real PostgreSQL, killed at every point, judged from outside."""
