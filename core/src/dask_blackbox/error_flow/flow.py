"""What an error changed that the driver had handled, followed through names of its source."""

from __future__ import annotations

import ast
import itertools
import re
from collections.abc import Iterable, Iterator
from collections.abc import Set as AbstractSet

from dask_blackbox.capture.driver.handled_errors import Handled, Place

from .sources import (
    Key,
    Scope,
    Sources,
    arguments_of,
    base_of,
    calls_of,
    is_in,
    last_line,
    name_of,
    own_expressions,
    path_to,
)
from .time_limit import TimeLimit

_ROUNDS = 12
HANDLER, UNDONE, _LATER = 3, 2, 1
"""How surely the end follows: from what the handler did, from what was not done because of the
error, or only by a condition before it."""
_LEAVES = (ast.Return, ast.Raise, ast.Continue, ast.Break)
_LOOPS = (ast.For, ast.AsyncFor, ast.While)
_SENDING = ("submit", "map", "compute", "persist", "retry", "scatter")
_SUPPRESSING = ("suppress", "raises", "assertRaises")
_MUTATORS = frozenset((
    "append", "appendleft", "extend", "add", "update", "insert", "setdefault", "discard",
    "remove", "pop", "popleft", "put", "put_nowait", "write", "writelines", "set", "clear",
))  # fmt: skip
_PLAIN = frozenset((
    "str", "repr", "type", "len", "format", "dict", "list", "tuple", "set", "int", "float",
    "bool", "getattr", "isinstance", "sum", "sorted", "join", "strip", "format_exc", "time",
))  # fmt: skip
"""Functions that get nothing from elsewhere."""
_UNCHANGED = re.compile(r"(?i)_*(?:log|logger|logging|client|cluster|sys|os|time)\d*")
"""Names of objects of which a method that returns nothing is not what a job continues with."""


class Flow:
    """What an error changed, as far as it is known by names."""

    def __init__(
        self, files: Sources, handled: Handled, limit: TimeLimit, *, on_purpose: bool
    ) -> None:
        self._files, self._handled, self._limit = files, handled, limit
        # What a line is executed for matters to one that ends the driver on purpose; what goes
        # wrong there by itself depends on values.
        self._on_purpose = on_purpose
        self._changed = dict[Key, int]()
        self._returned = dict[str, dict[object, int]]()  # by scope: constant, grade
        self._reached = dict[str, int]()  # by scope: which of these are conditions only
        stack = handled.stack
        called = (
            (files.at(inner), outer) for inner, outer in itertools.pairwise(stack)
        )
        self._sites = {scope.id: outer for scope, outer in called if scope is not None}
        self._begins = dict[str, int]()  # by scope: the first line executed after that
        self._made = set[Key]()  # what work that succeeds sets
        self._spreads = False
        self._not_taken = set[int]()  # statements, by identity
        self._since = dict[str, Place]()  # by scope: where it continued

    def reaches(self, end: tuple[Place, ...], code: int | None) -> int | None:
        """Return how closely the end depends on the error; None: nothing is known of that."""
        caught = self._begin(end)
        if caught is None:
            return None
        if caught == HANDLER:
            return HANDLER
        self._propagate()
        grade = self._at_end(end, code)
        return None if self._limit.is_over else grade

    def _begin(self, end: tuple[Place, ...]) -> int | None:
        """Find what handled the error: `HANDLER` if that ends the driver, None if nothing did."""
        stack = self._handled.stack
        for depth, place in enumerate(stack):
            scope = self._files.at(place)
            if scope is None:
                return None
            path = path_to(scope, place.line)
            self._since[scope.id] = place
            found = (
                self._returned_at(scope, path, end)
                if self._handled.returned
                else self._caught(scope, path, place.line, end)
            )
            if found is not None:
                for above in stack[depth + 1 :]:
                    if (outer := self._files.at(above)) is not None:
                        self._since.setdefault(outer.id, above)
                return found
            if self._handled.returned:
                return None
        return None

    def _returned_at(
        self, scope: Scope, path: list[ast.AST], end: tuple[Place, ...]
    ) -> int | None:
        """Follow an error that a call returned: the branch is taken that is for errors."""
        if not path:
            return None
        last = path[-1]
        names = self._names_for_it(last)
        test = next(_tests_of(scope, last, names), None)
        without, body = list[ast.stmt](), list[ast.stmt]()
        if test is not None:
            without, body = self._branches(test)
        elif not names:
            without, body = self._branches_around(path)
        if _ends_in(scope, body, end):
            return HANDLER
        self._mark_below(scope, without, UNDONE)
        self._made = {*self._changed}
        self._mark_below(scope, body, HANDLER)
        if test is None:
            for each in self._targets(scope, last):
                self._mark(each, HANDLER)
            if isinstance(last, ast.Return):
                self._returns(scope, last, HANDLER)
        return 0

    def _names_for_it(self, node: ast.AST) -> set[str]:
        """Return the names that a statement gives to the error or status itself."""
        named = [each for each in ast.walk(node) if isinstance(each, ast.NamedExpr)]
        targets: list[ast.AST] = [each.target for each in named]
        if isinstance(node, ast.Assign) and isinstance(
            node.value, ast.Call | ast.Attribute
        ):
            targets += node.targets
        return {each.id for each in targets if isinstance(each, ast.Name)}

    def _branches(self, taken: ast.If) -> tuple[list[ast.stmt], list[ast.stmt]]:
        """Return what a result would have been handled by, and what an error is handled by."""
        holds = self._holds(taken.test)
        if holds is None or _names_a_class(taken.test):
            without = list[ast.stmt]()
        else:
            without = taken.orelse if holds else taken.body
        while not holds and holds is not None:
            if len(taken.orelse) != 1 or not isinstance(taken.orelse[0], ast.If):
                break
            taken = taken.orelse[0]
            holds = self._holds(taken.test)
        if holds is None:
            return without, [*taken.body, *taken.orelse]
        return without, taken.body if holds else taken.orelse

    def _branches_around(
        self, path: list[ast.AST]
    ) -> tuple[list[ast.stmt], list[ast.stmt]]:
        """Return the branch beside the one that a statement is in, and that one."""
        for node in reversed(path[:-1]):
            if isinstance(node, ast.If):
                inner = path[path.index(node) + 1]
                of_body = inner in node.body
                return (node.orelse, node.body) if of_body else (node.body, node.orelse)
            if not isinstance(node, ast.With | ast.AsyncWith):
                break
        return [], []

    def _holds(self, test: ast.AST) -> bool | None:
        """Return whether a test holds of an error that a call returned; None: not known."""
        if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            inner = self._holds(test.operand)
            return None if inner is None else not inner
        if isinstance(test, ast.BoolOp):
            parts = [self._holds(each) for each in test.values]
            decides = isinstance(test.op, ast.Or)
            alike = None if None in parts else not decides
            return decides if decides in parts else alike
        if isinstance(test, ast.Compare):
            return _compares(test)
        if isinstance(test, ast.Call) and getattr(test.func, "id", "") == "isinstance":
            return self._is_one_of(test.args[1]) if len(test.args) > 1 else None
        return True if isinstance(test, ast.Name | ast.Call | ast.NamedExpr) else None

    def _caught(
        self, scope: Scope, path: list[ast.AST], line: int, end: tuple[Place, ...]
    ) -> int | None:
        for node in reversed(path):
            handler = self._handler_at(node, line)
            if handler is None and not _suppresses(node):
                continue
            body = [] if handler is None else handler.body
            if _ends_in(scope, body, end):
                return HANDLER
            if body and isinstance(body[-1], ast.Raise):
                continue  # it goes on as another exception
            self._begin_at(scope, path, node, line, handler)
            return 0
        return None

    def _handler_at(self, node: ast.AST, line: int) -> ast.ExceptHandler | None:
        """Return the handler of a `try` that gets what a line in its body raises."""
        if not isinstance(node, ast.Try | ast.TryStar) or not is_in(node.body, line):
            return None
        return next(filter(self._handles, node.handlers), None)

    def _handles(self, handler: ast.ExceptHandler) -> bool:
        kind = getattr(handler, "type", None)
        return kind is None or self._is_one_of(kind)

    def _is_one_of(self, kind: ast.AST) -> bool:
        """Return whether the error is of a class, or of one of several."""
        kinds = kind.elts if isinstance(kind, ast.Tuple) else [kind]
        for each in kinds:
            name = name_of(each)
            # Others than classes (`TRANSIENT`) may hold any.
            if name in self._handled.classes or name.isupper() or name.islower():
                return True
        return False

    def _begin_at(
        self,
        scope: Scope,
        path: list[ast.AST],
        caught: ast.AST,
        line: int,
        handler: ast.ExceptHandler | None,
    ) -> None:
        """Mark what the error changed where it was handled.

        Args:
            caught: The `try`, or the `with` that suppresses it.
            line: What raised it.
            handler: None: it was suppressed.
        """
        undone = _undone(caught, line)
        self._mark_below(scope, undone, UNDONE)
        self._made = {*self._changed}
        # A constant that is set at the end only notes that the work succeeded.
        flags = (
            e for e in undone if isinstance(getattr(e, "value", None), ast.Constant)
        )
        flags = (each for each in flags if isinstance(each, ast.Assign))
        self._mark_below(scope, flags, HANDLER)
        if handler is not None:
            self._begin_in_handler(scope, handler)
            if any(isinstance(each, _LEAVES[2:]) for each in ast.walk(handler)):
                loops = [n for n in path if isinstance(n, _LOOPS)]
                rest = loops[-1].body if loops else []
                self._mark_below(scope, _after(rest, last_line(caught)), UNDONE)
        # Where the work that failed was to return or to leave a loop, what comes after that
        # is only executed because it failed.
        if any(isinstance(each, ast.Return | ast.Break) for each in undone):
            after = last_line(caught)
            self._mark((scope.id, f"after {after}"), HANDLER)
            for each in _after(scope.statements, after):
                if isinstance(each, ast.Return):
                    self._returns(scope, each, HANDLER)

    def _begin_in_handler(self, scope: Scope, handler: ast.ExceptHandler) -> None:
        body, own = handler.body, handler.name
        instead = [e for e in body if _stands_in(e, own) or self._is_table(scope, e)]
        self._mark_below(scope, instead, UNDONE)
        self._mark_below(scope, [e for e in body if e not in instead], HANDLER)
        self._leave_out_branches(scope, body)

    def _is_table(self, scope: Scope, node: ast.stmt) -> bool:
        """Return whether a handler uses a table of the module's instead of what failed."""
        given = getattr(node, "value", None)
        if not isinstance(node, ast.Return | ast.Assign) or not isinstance(
            given, ast.Name
        ):
            return False
        module = next((s for s in self._files.scopes(scope.file) if s.is_module), None)
        return module is not None and any(
            isinstance(each, ast.Assign | ast.AnnAssign)
            and isinstance(each.value, ast.Dict | ast.List | ast.Tuple | ast.Call)
            and any(name_of(t) == given.id for t in _targets_of(each))
            and not _is_empty(each.value)
            for each in module.statements
        )

    def _leave_out_branches(self, scope: Scope, body: list[ast.stmt]) -> None:
        """Leave out what is only executed if a name has a value that the handler sets to None."""
        nothing = {
            target.id
            for each in body
            if isinstance(each, ast.Assign)
            and isinstance(each.value, ast.Constant)
            and not each.value.value
            for target in each.targets
            if isinstance(target, ast.Name)
        }
        for each in scope.statements if nothing else ():
            if isinstance(each, ast.If):
                holds = _holds_of_nothing(each.test, nothing)
                left_out = {None: [], True: each.orelse, False: each.body}[holds]
                self._not_taken |= {id(e) for top in left_out for e in ast.walk(top)}

    # Marking

    def _mark(self, key: Key, grade: int) -> bool:
        if self._spreads and key in self._made:
            grade = min(grade, UNDONE)  # it holds the job's results, too
        if self._changed.get(key, 0) >= grade:
            return False
        self._changed[key] = grade
        return True

    def _mark_below(self, scope: Scope, body: Iterable[ast.AST], grade: int) -> bool:
        """Mark what statements and those below them set, and what they return."""
        found, below = False, [e for top in body for e in ast.walk(top)]
        sent = {
            name for each in below if _sends_work(each) for name in _names_set(each)
        }
        for each in below:
            # Work that is sent again has a result that does not come from the error.
            if isinstance(each, ast.Expr | ast.Assign) and _mentions(each, sent):
                continue
            if isinstance(each, ast.stmt):
                for key in self._targets(scope, each):
                    found = self._mark(key, grade) or found
            if isinstance(each, ast.Return):
                found = self._returns(scope, each, grade) or found
        return found

    def _returns(
        self, scope: Scope, node: ast.Return, grade: int, *, reached: bool = True
    ) -> bool:
        """Note that a function returned this because of the error, or a value that is of it."""
        if reached:
            self._reached[scope.id] = max(grade, self._reached.get(scope.id, 0))
        value = node.value.value if isinstance(node.value, ast.Constant) else ...
        known = self._returned.setdefault(scope.id, {})
        if known.get(value, 0) >= grade:
            return False
        known[value] = grade
        return True

    def _targets(self, scope: Scope, node: ast.AST) -> Iterator[Key]:
        """Yield what a statement itself sets or changes."""
        for expression in own_expressions(node):
            for each in ast.walk(expression):
                if isinstance(each, ast.Name) and isinstance(
                    each.ctx, ast.Store | ast.Del
                ):
                    yield scope.key(each.id)
                elif isinstance(each, ast.Attribute) and isinstance(
                    each.ctx, ast.Store
                ):
                    yield (".", each.attr)
                elif isinstance(each, ast.Subscript) and isinstance(
                    each.ctx, ast.Store
                ):
                    yield from self._object(scope, each)
                elif isinstance(each, ast.Call):
                    yield from self._changed_by_call(scope, node, each)

    def _object(self, scope: Scope, node: ast.AST) -> Iterator[Key]:
        base = base_of(node)
        if isinstance(base, ast.Name):
            yield scope.key(base.id)
        elif isinstance(base, ast.Attribute):
            yield (".", base.attr)

    def _changed_by_call(
        self, scope: Scope, statement: ast.AST, call: ast.Call
    ) -> Iterator[Key]:
        function = call.func
        name = name_of(function)
        called = self._files.function(scope.file, name)
        if called is not None:
            if called is not scope:
                yield from self._changed_in(scope, called, call)
        elif isinstance(function, ast.Attribute):
            alone = isinstance(statement, ast.Expr) and statement.value is call
            base = base_of(function.value)
            of = name_of(base)
            if name in _MUTATORS or (alone and not _UNCHANGED.fullmatch(of)):
                yield from self._object(scope, function.value)

    def _changed_in(self, scope: Scope, called: Scope, call: ast.Call) -> Iterator[Key]:
        """Yield what a function of the same file changes that is not its own."""
        own = set[str]()
        for node in called.expressions:
            base = _changed_object(node)
            if isinstance(base, ast.Attribute):
                yield (".", base.attr)
            elif isinstance(base, ast.Name) and base.id not in called.bound:
                yield (called.file, base.id)
            elif isinstance(base, ast.Name) and base is not node:
                own.add(base.id)
        for parameter, argument in arguments_of(called, call):
            if parameter in own:
                yield from self._object(scope, argument)

    # Propagation

    def _propagate(self) -> None:
        self._spreads = True
        files = {place.file for place in self._handled.stack}
        scopes = [scope for file in sorted(files) for scope in self._files.scopes(file)]
        for _ in range(_ROUNDS):
            if self._limit.is_over:
                return
            found = False
            for scope in scopes:
                for each in scope.statements:
                    if id(each) not in self._not_taken and not self._is_before(
                        scope, each
                    ):
                        found = self._step(scope, each) or found
            found = self._to_callers() or found
            if not found:
                return

    def _is_before(self, scope: Scope, node: ast.stmt) -> bool:
        """Return whether a statement was executed only before the error came."""
        if scope.id not in self._begins:
            since = self._since.get(scope.id)
            loops = (
                each.lineno
                for each in ([] if since is None else path_to(scope, since.line))
                if isinstance(each, ast.For | ast.AsyncFor | ast.While)
            )
            line = 0 if since is None else since.line
            self._begins[scope.id] = min([line, *loops])
        return last_line(node) < self._begins[scope.id]

    def _step(self, scope: Scope, node: ast.stmt) -> bool:
        if isinstance(
            node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Try
        ):
            return False
        grade = max(
            (self._grade(scope, each) for each in own_expressions(node)), default=0
        )
        if not grade:
            return False
        if (parts := self._parts(scope, node)) is not None:
            marks = [
                self._mark(key, of_part)
                for target, of_part in parts
                for key in (self._object(scope, target) if of_part else ())
            ]
            return any(marks)
        marks = [self._mark(key, grade) for key in self._targets(scope, node)]
        found = any(marks)
        if isinstance(node, ast.Return):
            found = self._returns(scope, node, grade, reached=False) or found
        return self._step_below(scope, node, grade) or found

    def _step_below(self, scope: Scope, node: ast.stmt, grade: int) -> bool:
        """Mark what depends on a condition, and on what a loop goes through."""
        if isinstance(node, ast.Match):
            cases = [each for case in node.cases for each in case.body]
            return self._mark_below(scope, cases, grade)
        if not isinstance(node, ast.For | ast.AsyncFor | ast.If | ast.While):
            return False
        if isinstance(node, ast.If | ast.While) and not self._on_purpose:
            return False
        found = self._mark_below(scope, [*node.body, *node.orelse], grade)
        if isinstance(node.body[-1], _LEAVES):
            after = last_line(node)
            later = (e for e in scope.statements if e.lineno > after)
            returns = [e for e in later if isinstance(e, ast.Return)]
            marks = [self._returns(scope, each, _LATER) for each in returns]
            found = any(marks) or found
        return found

    def _to_callers(self) -> bool:
        """Let what a function changed in its arguments reach who called it."""
        found = False
        for inner, outer in itertools.pairwise(self._handled.stack):
            called, scope = self._files.at(inner), self._files.at(outer)
            path = [] if scope is None else path_to(scope, outer.line)
            if called is None or scope is None or not path:
                continue
            for call in calls_of(path[-1], called.name):
                for parameter, argument in arguments_of(called, call):
                    if grade := self._changed.get((called.id, parameter), 0):
                        for key in self._object(scope, argument):
                            found = self._mark(key, grade) or found
        return found

    def _parts(self, scope: Scope, node: ast.stmt) -> list[tuple[ast.AST, int]] | None:
        """Return the targets of `a, b = …` with the grade of each; None: not known apart."""
        if not isinstance(node, ast.Assign) or len(node.targets) != 1:
            return None
        target, value = node.targets[0], node.value
        if not isinstance(target, ast.Tuple):
            return None
        where, given, common = scope, list[ast.expr | None]([value]), 0
        if isinstance(value, ast.Call):
            called = self._called(scope, value)
            if called is None or self._is_another_call(scope, value, called):
                return None
            where, given = called, [*_returned_by(called)]
            common = self._reached.get(called.id, 0)
        tuples = [each for each in given if isinstance(each, ast.Tuple)]
        sizes = {len(each.elts) for each in tuples}
        if len(tuples) != len(given) or sizes != {len(target.elts)}:
            return None
        return [
            (each, max(common, *(self._grade(where, e.elts[i]) for e in tuples)))
            for i, each in enumerate(target.elts)
        ]

    def _called(self, scope: Scope, call: ast.Call) -> Scope | None:
        name = name_of(call.func)
        return self._files.function(scope.file, name)

    def _grade(self, scope: Scope, node: ast.AST, code: int | None = None) -> int:
        """Return how closely the value of an expression depends on the error."""
        best = 0
        for each in ast.walk(node):
            if isinstance(getattr(each, "ctx", None), ast.Store):
                continue
            if isinstance(each, ast.Name):
                best = max(best, self._changed.get(scope.key(each.id), 0))
            elif isinstance(each, ast.Attribute):
                best = max(best, self._changed.get((".", each.attr), 0))
                best = max(best, self._grade_of_property(scope, each.attr, code))
            elif isinstance(each, ast.Call):
                best = max(best, self._grade_of_call(scope, each, code))
        return best

    def _grade_of_property(self, scope: Scope, name: str, code: int | None) -> int:
        called = self._files.function(scope.file, name)
        if called is None or not called.is_property:
            return 0
        return self._grade_of_returned(called, code)

    def _is_another_call(self, scope: Scope, call: ast.Call, called: Scope) -> bool:
        """Return whether a call is not the one in which the error was handled.

        What handled it returned to where it was called then, and nowhere else.
        """
        site = self._sites.get(called.id)
        if site is None:
            return False
        here = call.lineno <= site.line <= last_line(call)
        return site.file != scope.file or not here

    def _grade_of_call(self, scope: Scope, call: ast.Call, code: int | None) -> int:
        called = self._files.function(scope.file, name_of(call.func))
        if called is None:
            return 0
        if self._is_another_call(scope, call, called):
            return 0
        return self._grade_of_returned(called, code)

    def _grade_of_returned(self, called: Scope, code: int | None) -> int:
        grades = self._returned.get(called.id, {}).items()
        return max(
            (g for value, g in grades if code is None or value in (..., code)),
            default=0,
        )

    # The end

    def _at_end(self, end: tuple[Place, ...], code: int | None) -> int:
        scopes = [self._files.at(place) for place in end]
        for (outer, scope), called in zip(
            reversed([*zip(end, scopes, strict=True)][1:]),
            reversed(scopes[:-1]),
            strict=True,
        ):
            if scope is not None and called is not None:
                self._pass_arguments(scope, outer.line, called)
        self._propagate()
        best, says = 0, False
        for place, scope in zip(end, scopes, strict=True):
            if scope is None:
                break
            grade, says = self._grade_at(scope, place.line, code)
            best = max(best, grade)
            if says or best:
                break
        last = scopes[-1]
        if not says and not best and last is not None and last.name:
            best = self._at_callers(last)
        return best

    def _at_callers(self, called: Scope) -> int:
        """Return how closely any call of a function depends on the error."""
        best = 0
        for scope in self._files.scopes(called.file):
            for each in scope.statements:
                if scope is not called and any(calls_of(each, called.name)):
                    best = max(best, self._grade_at(scope, each.lineno, None)[0])
        return best

    def _pass_arguments(self, scope: Scope, line: int, called: Scope) -> None:
        path = path_to(scope, line)
        for call in calls_of(path[-1], called.name) if path else ():
            for parameter, argument in arguments_of(called, call):
                if grade := self._grade(scope, argument):
                    self._mark((called.id, parameter), grade)

    def _grade_at(self, scope: Scope, line: int, code: int | None) -> tuple[int, bool]:
        """Return how closely the execution of a line depends on the error.

        And whether the line says on what it depends: else that is to be seen where it is called.
        """
        path = path_to(scope, line)
        if not path:
            return 0, False
        own = [*own_expressions(path[-1])]
        conditions = [*self._conditions(scope, path)]
        grades = [self._grade(scope, each, code) for each in (*conditions, *own)]
        for (of, name), grade in self._changed.items():
            if of == scope.id and name.startswith("after ") and line > int(name[6:]):
                grades.append(grade)
        bound = any(_mentions(each, scope.bound) for each in own)
        return max(grades, default=0), bound or bool(conditions)

    def _conditions(self, scope: Scope, path: list[ast.AST]) -> Iterator[ast.AST]:
        """Yield on what the execution of a line depends, where that matters."""
        if self._on_purpose:
            around = [
                e for e in path[:-1] if isinstance(e, (*_LOOPS, ast.If, ast.Match))
            ]
            yield from (own for each in around for own in own_expressions(each))
            if not around:
                yield from (guard.test for guard in [*_guards(scope, path)][-1:])


def _guards(scope: Scope, path: list[ast.AST]) -> Iterator[ast.If]:
    """Yield the conditions before a line after which it would not have been reached."""
    for node in (scope.node, *path[:-1]):
        for body in (getattr(node, "body", ()), getattr(node, "orelse", ())):
            if not isinstance(body, list) or not any(each in path for each in body):
                continue
            for each in body:
                if each in path:
                    break
                if isinstance(each, ast.If) and isinstance(each.body[-1], _LEAVES):
                    yield each


def _compares(test: ast.Compare) -> bool | None:
    """Return whether a comparison holds of an error, or of the status of a future with one."""
    given, how = test.comparators[0], test.ops[0]
    if isinstance(given, ast.Tuple | ast.List | ast.Set):
        words = [getattr(each, "value", None) for each in given.elts]
    else:
        words = [given.value] if isinstance(given, ast.Constant) else []
    if words == [None]:
        known = isinstance(how, ast.Is | ast.IsNot)
        return isinstance(how, ast.IsNot) if known else None
    if not words or not all(isinstance(word, str) for word in words):
        return None
    of_errors = "error" in words
    return of_errors if isinstance(how, ast.Eq | ast.In | ast.Is) else not of_errors


def _holds_of_nothing(test: ast.AST, names: set[str]) -> bool | None:
    """Return whether a test holds where some names are None or False; None: not known."""
    if isinstance(test, ast.Name):
        return False if test.id in names else None
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        inner = _holds_of_nothing(test.operand, names)
        return None if inner is None else not inner
    if isinstance(test, ast.Compare) and isinstance(test.left, ast.Name):
        known = test.left.id in names and isinstance(test.comparators[0], ast.Constant)
        if known and isinstance(test.ops[0], ast.Is | ast.IsNot):
            return isinstance(test.ops[0], ast.Is)
    return None


def _stands_in(node: ast.stmt, error: str | None) -> bool:
    """Return whether a handler gets elsewhere what failed, instead of noting that it failed.

    Args:
        error: The name that the handler gives to the error.
    """
    if not isinstance(node, ast.Return | ast.Assign) or node.value is None:
        return False
    names = {each.id for each in ast.walk(node.value) if isinstance(each, ast.Name)}
    if isinstance(node.value, ast.Subscript):
        return error not in names
    calls = [
        name_of(each.func)
        for each in ast.walk(node.value)
        if isinstance(each, ast.Call)
    ]
    # Classes are called to make a note.
    others = [name for name in calls if name not in _PLAIN and name[:1].islower()]
    return bool(others) and error not in names


def _targets_of(node: ast.Assign | ast.AnnAssign) -> list[ast.expr]:
    return node.targets if isinstance(node, ast.Assign) else [node.target]


def _is_empty(node: ast.AST) -> bool:
    """Return whether an expression makes a container that something is added to later."""
    parts = ("elts", "keys", "args", "keywords")
    return not any(getattr(node, name, ()) for name in parts)


def _sends_work(node: ast.AST) -> bool:
    value = getattr(node, "value", None)
    function = value.func if isinstance(value, ast.Call) else None
    return isinstance(node, ast.Assign) and getattr(function, "attr", "") in _SENDING


def _mentions(node: ast.AST, names: AbstractSet[str]) -> bool:
    return any(isinstance(e, ast.Name) and e.id in names for e in ast.walk(node))


def _names_set(node: ast.AST) -> Iterator[str]:
    """Yield the names that a statement sets."""
    for each in ast.walk(node):
        if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store):
            yield each.id


def _returned_by(function: Scope) -> Iterator[ast.expr | None]:
    for each in function.statements:
        if isinstance(each, ast.Return):
            yield each.value


def _after(body: Iterable[ast.stmt], line: int) -> list[ast.stmt]:
    return [each for each in body if each.lineno > line]


def _undone(caught: ast.AST, line: int) -> list[ast.stmt]:
    """Return what was not executed of a `try` or a `with`, because a line in it raised."""
    body = [each for each in getattr(caught, "body", ()) if last_line(each) >= line]
    return [*body, *getattr(caught, "orelse", ())]


def _tests_of(scope: Scope, last: ast.AST, names: set[str]) -> Iterator[ast.If]:
    """Yield the tests of what a statement returned: it itself, or what comes later."""
    if isinstance(last, ast.If):
        yield last
    for each in _after(scope.statements, last_line(last)):
        if isinstance(each, ast.If) and _mentions(each.test, names):
            yield each


def _ends_in(scope: Scope, body: list[ast.stmt], end: tuple[Place, ...]) -> bool:
    """Return whether the driver ended in one of some statements."""
    return any(each.file == scope.file and is_in(body, each.line) for each in end)


def _names_a_class(test: ast.AST) -> bool:
    return any(getattr(each, "id", "") == "isinstance" for each in ast.walk(test))


def _changed_object(node: ast.AST) -> ast.AST | None:
    """Return the name or attribute that an expression sets or changes, if it does."""
    if isinstance(node, ast.Name | ast.Attribute | ast.Subscript):
        return base_of(node) if isinstance(node.ctx, ast.Store) else None
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        return base_of(node.func.value) if node.func.attr in _MUTATORS else None
    return None


def _suppresses(node: ast.AST) -> bool:
    return isinstance(node, ast.With | ast.AsyncWith) and any(
        isinstance(each.context_expr, ast.Call)
        and name_of(each.context_expr.func) in _SUPPRESSING
        for each in node.items
    )
