"""How ckptsite speaks to the network: where a request may go, and one request to exactly there. No models in here."""
