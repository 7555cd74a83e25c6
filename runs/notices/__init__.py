"""What carries notices out of the house: e-mail, signed requests, and messages in Slack. None of it touches a row."""
