"""The embedded servers and the supervisor behind `manage.py up`. Nothing in here imports Django."""
