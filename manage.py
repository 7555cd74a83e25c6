#!/usr/bin/env python3
"""The one command line of ckptsite."""

import sys

from ckptsite.services import commands

if __name__ == "__main__":
    sys.exit(commands.main(sys.argv))
