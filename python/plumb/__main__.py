# SPDX-License-Identifier: MIT
"""python -m plumb: the program."""
from ._program import main

main()
