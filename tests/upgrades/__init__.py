"""What was begun under an earlier release goes on under this one."""
