"""The JSON API, /api/v1/: the acts and reads of the pages for programs that come with a token. Thin, as views are."""
