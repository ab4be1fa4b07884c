#!/usr/bin/env python
"""``hadash-manage`` of a checkout."""

from hadash.manage import main

if __name__ == "__main__":
    main()
