"""Checked certificates as a page: HTML of one file, or Markdown. Needs jinja2 and latex2mathml, the extra `report`.

Whatever comes from a file is a stranger's text: it is escaped, and what is markup is rebuilt from known elements.
"""
