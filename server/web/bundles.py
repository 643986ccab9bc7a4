"""Joins the client's modules, one file for each folder: a first load makes few requests.

Browsers open six connections to a server, so on a line with a delay each further six requests cost
that delay again. The modules keep their meaning: each becomes a function in the bundle of its
folder, which returns what the module exports. A module that is loaded later, by `import(…)`, stays
a file of its own.
"""

import posixpath
import re
from collections.abc import Iterable, Mapping

#: An import with names or without. It may take several lines.
_IMPORT = re.compile(r'^import (?:\{(?P<names>[^}]*)\} from )?"(?P<path>\.[^"]+)";$', re.MULTILINE)
_EXPORT = re.compile(r"^export (?=(?:(?:async )?function\*?|class|const) (\w+))", re.MULTILINE)
_DYNAMIC_IMPORT = re.compile(r'\bimport\("(\.[^"]+)"\)')
#: What a bundle cannot express.
_UNKNOWN_FORM = re.compile(r"^(?:import|export)\b.*$|\bimport\.meta\b", re.MULTILINE)


class Bundles:
    """The bundles of the modules that are loaded with some page; the other modules stay alone.

    Raises ValueError for imports in a circle, and for forms of import and export that the client
    does not use.
    """

    def __init__(self, sources: Mapping[str, str], entries: Iterable[str]) -> None:
        self._sources = sources
        #: The modules in the bundles, each after those that it imports.
        self._modules: dict[str, None] = {}
        for entry in entries:
            self._add(entry, ())

    def files(self) -> dict[str, str]:
        """The bundles, and the other modules, by their paths."""
        bundles: dict[str, list[str]] = {}
        for module in self._modules:
            bundles.setdefault(bundle_of(module), []).append(module)
        files = {path: self._bundle(path, modules) for path, modules in bundles.items()}
        alone = [module for module in self._sources if module not in self._modules]
        return files | {module: self._alone(module) for module in alone}

    def needed_by(self, *modules: str) -> tuple[str, ...]:
        """The files that are loaded with these modules, those that are imported last first.

        A bundle is loaded with all that any of its modules imports.
        """
        found: dict[str, None] = {}
        waiting = list(modules)
        while waiting:
            module = waiting.pop(0)
            path = self._file_of(module)
            if path not in found:
                found[path] = None
                joined = [other for other in self._modules if bundle_of(other) == path]
                waiting += [t for other in joined or [module] for t in self.imports(other)]
        return tuple(found)

    def _file_of(self, module: str) -> str:
        """The path of the file with a module: its bundle, or its own."""
        return bundle_of(module) if module in self._modules else module

    def imports(self, module: str) -> list[str]:
        """The modules that a module imports when it is loaded."""
        found = _IMPORT.finditer(self._sources[module])
        return [_resolve(module, match["path"]) for match in found]

    def _add(self, module: str, importers: tuple[str, ...]) -> None:
        """Adds a module after those that it imports."""
        if module in importers:
            raise ValueError(f"{module} imports itself through {importers[-1]}")
        if module not in self._modules:
            for target in self.imports(module):
                self._add(target, (*importers, module))
            self._modules[module] = None

    def _bundle(self, path: str, modules: list[str]) -> str:
        used = {
            target
            for module in modules
            for target in self.imports(module)
            if bundle_of(target) != path
        }
        functions = [self._function(module, path) for module in modules]
        names = ", ".join(map(_name, modules))
        return "\n".join([*self._head(path, used), *functions, f"export {{ {names} }};", ""])

    def _function(self, module: str, path: str) -> str:
        """A module as a function that is called at once."""
        body = self._body(module, path)
        exports = ", ".join(_EXPORT.findall(body))
        body = _EXPORT.sub("", body)
        if unknown := _UNKNOWN_FORM.search(body):
            raise ValueError(f"{module} has {unknown[0]!r}, which a bundle cannot express")
        head = f"const {_name(module)} = (() => {{"
        return f"{head}\n{body}\nreturn {{ {exports} }};\n}})();"

    def _alone(self, module: str) -> str:
        """A module that is loaded later; it takes what is in a bundle from there."""
        used = {target for target in self.imports(module) if target in self._modules}
        return "\n".join([*self._head(module, used), self._body(module, module)])

    def _head(self, path: str, used: set[str]) -> list[str]:
        """The imports of a file from the bundles of these modules."""
        names: dict[str, list[str]] = {}
        for module in sorted(used):
            names.setdefault(bundle_of(module), []).append(_name(module))
        return [
            f'import {{ {", ".join(modules)} }} from "{_relative(path, bundle)}";'
            for bundle, modules in names.items()
        ]

    def _body(self, module: str, path: str) -> str:
        """A module's text, in a file at `path`, with its imports from bundles rewritten."""

        def rewrite(match: re.Match[str]) -> str:
            target = _resolve(module, match["path"])
            if target not in self._modules:
                return match[0]
            if match["names"] is None:
                return ""
            return f"const {{{match['names'].replace(' as ', ': ')}}} = {_name(target)};"

        def rewrite_dynamic(match: re.Match[str]) -> str:
            target = _resolve(module, match[1])
            if target not in self._modules:
                return f'import("{_relative(path, target)}")'
            bundle = _relative(path, bundle_of(target))
            return f'import("{bundle}").then((bundle) => bundle.{_name(target)})'

        text = _IMPORT.sub(rewrite, self._sources[module])
        return _DYNAMIC_IMPORT.sub(rewrite_dynamic, text)


def bundle_of(module: str) -> str:
    """The path of a module's bundle, one for each folder. The table of pages is in the shell's."""
    return f"{posixpath.dirname(module) or 'shell'}.js"


def _name(module: str) -> str:
    """The name of a module's exports in a bundle."""
    return "$" + re.sub(r"\W", "_", module.removesuffix(".js"))


def _resolve(module: str, path: str) -> str:
    return posixpath.normpath(posixpath.join(posixpath.dirname(module), path))


def _relative(source: str, target: str) -> str:
    path = posixpath.relpath(target, posixpath.dirname(source) or ".")
    return path if path.startswith(".") else f"./{path}"
