"""The house keeps its budgets: module and function sizes, parameters, seams, broad excepts."""

import ast
import statistics
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "srb_train"
MODULES = sorted(PACKAGE.rglob("*.py"))
SEAMS = {
    "config/__init__.py": {"srb_train.config"},
    "cli/mcp.py": {"srb_train"},
}
"""Where imports stand inside a function, and what they import."""
TOOLS = {"mcp_server/control.py"}
"""Modules whose functions list the arguments of a tool."""
DRAWERS = {"utils", "util", "helpers", "common", "base", "misc", "manager", "managers", "tools"}


def lines(path: Path) -> int:
    return len(path.read_text(encoding="utf-8").splitlines())


def functions(path: Path) -> list[ast.FunctionDef | ast.AsyncFunctionDef]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
    return [node for node in ast.walk(tree) if isinstance(node, kinds)]


ALL = [(path, function) for path in MODULES for function in functions(path)]


def size(function: ast.AST) -> int:
    return function.end_lineno - function.lineno + 1


def name(path: Path) -> str:
    return str(path.relative_to(PACKAGE))


def test_modules_stay_small():
    sizes = {name(path): lines(path) for path in MODULES}
    assert {where: size for where, size in sizes.items() if size > 400} == {}
    assert statistics.median(sizes.values()) <= 130


def test_functions_fit_in_one_look():
    sizes = sorted(size(function) for _, function in ALL)
    long = [f"{name(p)}:{f.name} {size(f)}" for p, f in ALL if size(f) > 50]
    assert long == []
    assert statistics.median(sizes) <= 8
    assert sizes[int(len(sizes) * 0.9)] <= 30


def test_functions_take_few_parameters():
    def count(function: ast.FunctionDef) -> int:
        args = function.args
        names = [*args.posonlyargs, *args.args, *args.kwonlyargs]
        return len([arg for arg in names if arg.arg not in ("self", "cls")])

    # A command lists its options as parameters, and so does a tool its arguments.
    outside = [(p, f) for p, f in ALL if "cli" not in p.parts and name(p) not in TOOLS]
    assert [f"{name(p)}:{f.name}" for p, f in outside if count(f) > 6] == []


def test_commands_only_translate():
    commands = [
        (path, function)
        for path, function in ALL
        if "cli" in path.parts and any("command" in ast.dump(d) for d in function.decorator_list)
    ]
    assert commands

    def body(function: ast.FunctionDef) -> int:
        return function.end_lineno - function.body[0].end_lineno

    assert [f"{name(p)}:{f.name}" for p, f in commands if body(f) > 15] == []


@pytest.mark.parametrize("room", ["algos", "envs"])
def test_door_plates_are_short(room):
    plates = sorted((PACKAGE / room).glob("*/__init__.py"))
    assert plates
    sizes = {name(path): lines(path) for path in plates}
    assert {where: size for where, size in sizes.items() if size > 40} == {}


def test_imports_stand_at_the_top_but_for_the_counted_seams():
    lazy = {}
    for path, function in ALL:
        inner = [n for n in ast.walk(function) if isinstance(n, ast.Import | ast.ImportFrom)]
        for node in inner:
            module = node.module if isinstance(node, ast.ImportFrom) else node.names[0].name
            lazy.setdefault(name(path), set()).add(module)
    assert lazy == SEAMS


DYNAMIC = {
    "registry.py",  # every machine (seam 2)
    "console.py",  # the shell that --repl names
    "cli/display.py",  # the live panel, for a terminal only
    "video.py",  # the video encoder, an extra
    "cli/extras.py",  # the dashboard and the pictures, which are extras
    "viewers/opening.py",  # the toolkit of a window, the server of a page
    "envs/tasks/machine.py",  # the compiled batch, which needs JAX
    "envs/contact/picture.py",  # MuJoCo's renderer, which asks for a display when imported
    "envs/gymnasium/machine.py",  # modules that a user's id names
    "envs/own/machine.py",  # the module that holds a user's own task
    "envs/isaaclab/machine.py",  # what can be imported only once Isaac Sim's app runs
}


def test_modules_are_imported_by_name_in_the_listed_places_only():
    words = ("import_module(", "resolve_name(", "__import__(")
    found = {name(p) for p in MODULES if any(w in p.read_text("utf-8") for w in words)}
    assert found == DYNAMIC


def test_one_broad_except_and_it_stands_in_the_worker():
    broad = []
    for path in MODULES:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ExceptHandler):
                caught = ast.unparse(node.type) if node.type else "BaseException"
                if caught in ("Exception", "BaseException"):
                    broad.append(name(path))
    assert broad == ["worker.py"]


def test_no_two_functions_have_the_same_body():
    seen: dict[str, str] = {}
    twins = []
    for path, function in ALL:
        if len(function.body) < 2 or size(function) < 5:
            continue
        body = "\n".join(ast.dump(node) for node in function.body)
        where = f"{name(path)}:{function.name}"
        if body in seen:
            twins.append((seen[body], where))
        seen[body] = where
    assert twins == []


def test_nothing_is_called_a_drawer():
    found = [name(p) for p in PACKAGE.rglob("*") if p.stem.strip("_") in DRAWERS]
    assert found == []


def test_nothing_happens_at_import_but_definitions():
    allowed = (
        ast.Import, ast.ImportFrom, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Assign,
        ast.AnnAssign, ast.Expr, ast.If,
    )  # fmt: skip
    strange = []
    for path in MODULES:
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            is_text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
            is_main = isinstance(node, ast.If) and "__main__" in ast.unparse(node.test)
            plain = not isinstance(node, ast.Expr | ast.If)
            if not isinstance(node, allowed) or not (plain or is_text or is_main):
                strange.append(f"{name(path)}:{node.lineno} {ast.unparse(node)[:60]}")
    assert [line for line in strange if not line.startswith("cli/")] == []
