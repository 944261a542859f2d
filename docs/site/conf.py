# SPDX-License-Identifier: MIT
# Settings of Sphinx. scripts/docs prepares the pages and calls it.
import os

project = "plumb"
author = "the authors of plumb"
project_copyright = "the authors of plumb, MIT license"
release = os.environ.get("PLUMB_VERSION", "")
html_title = f"plumb {release}".strip()

extensions = ["myst_parser"]
myst_enable_extensions = ["deflist"]  # options of commands
myst_heading_anchors = 6  # the names that GitHub gives to headings
html_theme = "furo"
html_static_path = ["static"]
html_css_files = ["plumb.css"]
html_copy_source = False
html_show_sourcelink = False
nitpicky = True
