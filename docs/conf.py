"""Sphinx configuration: ``python -m sphinx -W --keep-going -b html docs docs/_build/html``."""

import re
from pathlib import Path

from docutils import nodes
from docutils.utils.math.latex2mathml import tex2mathml

import sklearn_dprank

project = "sklearn_dprank"
author = "the sklearn_dprank developers"
copyright = f"2026, {author}"
version = release = sklearn_dprank.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["_build"]
templates_path = ["_templates"]
html_theme = "pydata_sphinx_theme"
html_title = f"{project} {version}"
html_show_sourcelink = False
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_search_scorer = str(Path(__file__).with_name("search_scorer.js"))
default_role = "py:obj"
html_sidebars = {"gallery": []}
toc_object_entries_show_parents = "hide"
autodoc_typehints = "none"  # docstrings state the types, in words

# Reference pages -----------------------------------------------------------------------------------------------------

autosummary_generate = True
autosummary_ignore_module_all = False  # a page lists the `__all__` of its module, or what is defined there
numpydoc_show_class_members = False  # docs/_templates lists the methods
_scikit_learn = {
    "get_params",
    "set_params",
    "get_metadata_routing",
    "get_feature_names_out",
    "fit_transform",
    "set_output",
}


_inside = {"follows_plan", "plan_for", "publish", "read_ballots"}  # for sweeps: the page of their base class has them


def _absent(name):
    """Return the methods that an estimator's page leaves out: it hides what does not apply to it."""
    cls = getattr(sklearn_dprank, name)
    return _inside | (set() if name == "Aggregator" else {method for method in dir(cls) if not hasattr(cls(), method)})


autosummary_context = {"skip": {name: _absent(name) for name in sklearn_dprank.__all__}}
_guides = {  # where a class page sends its reader; the rest to "choosing"
    "Aggregator": "../extending/layout",
    "DPStreamingBorda": "publishing",
    "PrivacyBudget": "budgets",
    "PrivacyGuarantee": "privacy",
    "Device": "collecting",
    "GridSearchCV": "sweeps",
    "PrivateSelection": "sweeps",
    "Profile": "ballots",
    "SegmentedAggregator": "surveys",
    "RatingsToRankings": "ballots",
}
autosummary_context["guides"] = dict.fromkeys(sklearn_dprank.__all__, "choosing") | _guides
autosummary_context["skip_always"] = _scikit_learn | {"count", "index"}  # scikit-learn's and named tuples'


def _bars_as_bars(app, what, name, obj, options, lines):
    """Keep |x|, an absolute value in our docstrings, from being read as a substitution."""
    for row, line in enumerate(lines):
        if not line.lstrip().startswith((">>>", "...")):
            lines[row] = re.sub(r"``.*?``|\|", lambda found: r"\|" if found[0] == "|" else found[0], line)


def _own_epsilons(name):
    """Tell whether voters may have an epsilon of their own in the class that a method's full name begins with."""
    cls = getattr(sklearn_dprank, name.split(".")[-2], None)
    if cls is None or cls is sklearn_dprank.Aggregator:  # a class inside, or one that takes any channel
        return True
    return getattr(cls()._compose()[0], "personal_budgets", False)


def _fit_of_one_epsilon(app, what, name, obj, options, lines):
    """Leave ``voter_epsilon`` out of what a page says of `fit` where the class refuses it."""
    if name.endswith(".fit") and not _own_epsilons(name):
        text = "\n".join(lines)
        lines[:] = re.sub(r"^voter_epsilon :.*\n(?:    .*\n)+", "", text, flags=re.MULTILINE).split("\n")


def _signature_of_one_epsilon(app, what, name, obj, options, signature, returns):
    """Leave it out of the signature likewise."""
    if name.endswith(".fit") and not _own_epsilons(name):
        return signature.replace(", *, voter_epsilon=None", ""), returns
    return None


def _no_empty_heading(app, what, name, obj, options, lines):
    """Drop the heading "Notes" where a heading of its own follows at once."""
    text = "\n".join(lines)
    lines[:] = re.sub(r"^\.\. rubric:: Notes\n+(?=\.\. rubric::)", "", text, flags=re.MULTILINE).split("\n")


# Formulas are MathML, which browsers draw by themselves: nothing is fetched, no script runs.
html_math_renderer = "mathml"


def _formula(kind):
    """Return how sphinx writes a formula, within a line or in one of its own."""

    def visit(writer, node):
        writer.body.append(tex2mathml(node.astext()).replace("<math ", f'<math display="{kind}" ', 1))
        raise nodes.SkipNode

    return visit, None


def setup(app):
    app.connect("autodoc-process-docstring", _fit_of_one_epsilon, priority=400)  # before numpydoc
    app.connect("autodoc-process-docstring", _no_empty_heading, priority=600)  # after it
    app.connect("autodoc-process-docstring", _bars_as_bars)
    app.connect("autodoc-process-signature", _signature_of_one_epsilon)
    app.add_html_math_renderer("mathml", inline_renderers=_formula("inline"), block_renderers=_formula("block"))


# Gallery -------------------------------------------------------------------------------------------------------------

sphinx_gallery_conf = {
    "examples_dirs": ["../examples"],  # a list: 0.17 takes a name for its letters
    "gallery_dirs": ["auto_examples"],
    "filename_pattern": r"[\\/]plot_",
    "ignore_pattern": r"(^|[\\/])_",  # what several examples share
    "within_subsection_order": "FileNameSortKey",
    "remove_config_comments": True,
    "default_thumb_file": str(Path(__file__).parent / "images" / "no_thumbnail.svg"),  # which .ci/site.py looks for
    "image_srcset": ["2x"],  # for screens of high density
    "show_memory": False,
    "show_signature": False,
    "download_all_examples": False,
    "abort_on_example_error": True,
    "parallel": True,  # as many examples at once as sphinx's `-j` says
    "backreferences_dir": "generated/examples_of",
    "doc_module": ("sklearn_dprank",),
}
