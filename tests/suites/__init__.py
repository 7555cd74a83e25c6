"""Third-party suites of agent tasks, replayed through the engine. Their packages come with the extra `suites`."""
