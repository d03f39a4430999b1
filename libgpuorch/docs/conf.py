"""Sphinx's configuration. libgpuorch/docs/build copies this file beside the sources that the generator makes."""
import json
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

project = "libgpuorch"
html_title = "libgpuorch"
extensions = ["myst_parser", "link_names"]
exclude_patterns = ["parts", "sources"]
html_theme = "furo"
plain = {name: "var(--color-foreground-primary)" for name in ("color-api-name", "color-api-pre-name")}
html_theme_options = {"light_css_variables": plain, "dark_css_variables": plain}   # names in the colour of the text
html_static_path = ["static"]
html_css_files = ["custom.css"]
html_copy_source = False
html_show_sourcelink = False
html_show_copyright = False
html_use_opensearch = ""
html_last_updated_fmt = None
pygments_style = "tango"
pygments_dark_style = "monokai"
smartquotes = False
add_function_parentheses = False
toc_object_entries = False
highlight_language = "c"
myst_heading_anchors = 3
myst_url_schemes = ("http", "https", "mailto", "page")
# C declarations of the headers, in which Sphinx looks for every type.
nitpick_ignore = [("c:identifier", name) for name in (
    "int8_t", "uint8_t", "int16_t", "uint16_t", "int32_t", "uint32_t", "int64_t", "uint64_t", "size_t")]
# Examples in comments may have words between the lines of code, which no lexer knows.
suppress_warnings = ["misc.highlighting_failure"]
