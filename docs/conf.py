# Sphinx configuration of Mneme's manuals: HTML of all pages, man pages of
# CommandGuide. Built by docs-mneme-html and docs-mneme-man (LLVM_ENABLE_SPHINX).
import os
import re
import sys

project = "Mneme"
copyright = "The Mneme authors. Apache License v2.0 with LLVM Exceptions"
with open(os.path.join(os.path.dirname(__file__), "..", "CMakeLists.txt")) as file:
    version = release = re.search(r"project\(mneme .*VERSION ([\d.]+)\)", file.read())[1]

# The reference of the Python package is made of its texts.
sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "python"))
extensions = ["sphinx.ext.autodoc"]
autodoc_member_order = "bysource"
# Types of other packages have no pages here.
nitpick_ignore_regex = [(r"py:.*", r".*")]
master_doc = "index"
# Options of several tools have the same names: a reference names its tool.
nitpicky = True
# "--option" is no dash.
smartquotes = False
# Blocks without a language are commands.
highlight_language = "sh"
html_theme = "alabaster"
# Wide enough for code of 120 columns.
html_theme_options = {
    "page_width": "min(96vw, 1400px)",
    "body_max_width": "none",
    "code_font_size": "0.8em",
    "sidebar_width": "250px",
}
html_sidebars = {"**": ["about.html", "searchbox.html", "globaltoc.html"]}
html_show_sourcelink = False

# The title of each page of CommandGuide is "tool - description".
man_pages = []
guide = os.path.join(os.path.dirname(__file__), "CommandGuide")
for name in sorted(os.listdir(guide)):
    with open(os.path.join(guide, name)) as file:
        tool, description = file.readline().rstrip().split(" - ", 1)
    man_pages.append(("CommandGuide/" + tool, tool, description, "", 1))
man_show_urls = True
