"""Hooks of mkdocs: the site mirrors the repository, so that the links of its documents work here as they do there.

Whatever a document links to becomes a page: other documents as they are, source files and folders as code. The pages of
the API reference are made from the names that the packages export.
"""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path
from posixpath import dirname, normpath, relpath
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).parents[1]
DOCUMENTS = {
    "README.md": "index.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
    "examples/README.md": "examples.md",
}
LANGUAGES = {".py": "python", ".toml": "toml", ".csv": "text"}
LINK = re.compile(r"(?<=\]\()(?!\w+:|#)([^)#\s]+)")
API = {
    "l2s_plugin": "Instances, schedules, stop criteria, specs and the registry.",
    "heuristics": "Searches, their configuration and their results.",
    "integrations.cp_sat": "CP-SAT and the hybrid.",
}
PLUGIN_API = ["l2s_plugin.hookspecs", "l2s_plugin.selectors", "l2s_plugin.neighbourhoods", "heuristics.monitor"]


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the documents outside of docs/, what documents link to, and the API reference."""
    pages = {uri: (ROOT / path).read_text() for path, uri in DOCUMENTS.items()}
    texts = {f"docs/{file.src_uri}": file.content_string for file in files.documentation_pages()}
    texts |= {path: pages[uri] for path, uri in DOCUMENTS.items()}
    for origin, text in texts.items():
        for link in LINK.findall(text):
            path = normpath(f"{dirname(origin)}/{link}".lstrip("/"))
            if not path.startswith("docs/") and path not in DOCUMENTS and (ROOT / path).exists():
                pages[page_of(path)] = listing(ROOT / path)
    for package, about in API.items():
        names = [f"{package}.{name}" for name in import_module(package).__all__]
        pages[f"api/{package}.md"] = reference(package, about, names)
    pages["api/plugins.md"] = reference("For plugins", "What plugins build upon.", PLUGIN_API)
    for uri, text in pages.items():
        files.append(File.generated(config, uri, content=text))
    return files


def on_page_markdown(markdown: str, page: Page, **_: Any) -> str:
    """Point links at the pages of the site."""
    uri = page.file.src_uri
    origin = {made: path for path, made in DOCUMENTS.items()}.get(uri, f"docs/{uri}")

    def on_site(link: re.Match[str]) -> str:
        return relpath(page_of(normpath(f"{dirname(origin)}/{link[0]}".lstrip("/"))), dirname(uri) or ".")

    return markdown if uri.startswith(("api/", "repository/")) else LINK.sub(on_site, markdown)


def page_of(path: str) -> str:
    """The page for a file or folder of the repository."""
    return DOCUMENTS.get(path) or (path.removeprefix("docs/") if path.startswith("docs/") else f"repository/{path}.md")


def listing(path: Path) -> str:
    """A source file, or those of a folder, as a page."""
    found = [path] if path.is_file() else [each for each in sorted(path.rglob("*")) if each.suffix in LANGUAGES]
    blocks = [f"# `{path.relative_to(ROOT)}`"]
    for each in found:
        if path.is_dir():
            blocks.append(f"## `{each.relative_to(path)}`")
        blocks.append(f"````{LANGUAGES[each.suffix]}\n{each.read_text()}````")
    return "\n\n".join(blocks)


def reference(title: str, about: str, names: list[str]) -> str:
    """A page that mkdocstrings fills from docstrings."""
    return "\n\n".join([f"# {title}", about, *(f"::: {name}" for name in names)])
