"""The pages: thin, one file a family. What changes something is a POST form that works without JavaScript."""
