"""The routes of the API as data: what is asked, who answers, and how it is documented.

What an answer looks like is said once, by the type of the function that makes it.
"""

from collections.abc import Callable, Sequence
from typing import Any, get_type_hints

from gossamer.net.admin.http import HttpError, HttpRequest, Response


class Endpoint:
    """`path` holds names in braces, whose parts of the request become keyword arguments.

    `call` returns a JSON value or a Response, or is a coroutine that does.
    """

    __slots__ = ("call", "is_open", "method", "parts", "path", "query", "summary")

    def __init__(
        self,
        method: str,
        path: str,
        call: Callable[..., Any],
        summary: str,
        query: dict[str, str] | None = None,
        is_open: bool = False,
    ) -> None:
        self.method = method
        self.path = path
        self.parts = path.split("/")[1:]
        self.call = call
        self.summary = summary
        self.query = query or {}  # parameter → what it means
        self.is_open = is_open  # whether it answers without a token

    def match(self, path: tuple[str, ...]) -> dict[str, str] | None:
        """The named parts, or None if the path is another one."""
        if len(path) != len(self.parts):
            return None
        named: dict[str, str] = {}
        for part, given in zip(self.parts, path, strict=True):
            if part.startswith("{"):
                named[part[1:-1]] = given
            elif part != given:
                return None
        return named


def find(routes: list[Endpoint], request: HttpRequest) -> tuple[Endpoint, dict[str, str]]:
    """The route of a request; HttpError 404, 405 or 400 if it has none."""
    at_path = [
        (route, named) for route in routes if (named := route.match(request.path)) is not None
    ]
    if not at_path:
        raise HttpError(404, "there is nothing here; see /openapi.json")
    for route, named in at_path:
        if route.method == request.method:
            for key in request.query:
                if key not in route.query:
                    known = ", ".join(route.query) or "none"
                    raise HttpError(400, f"unknown parameter {key}; known: {known}")
            return route, named
    raise HttpError(405, "only " + ", ".join(route.method for route, _ in at_path))


def openapi(routes: Sequence[Endpoint], version: str) -> dict[str, Any]:
    """The OpenAPI 3.1 document of these routes."""
    from pydantic import TypeAdapter  # not at the top: few ask for this, and it is large

    answers = {route: get_type_hints(route.call)["return"] for route in routes}
    schemas, definitions = TypeAdapter.json_schemas(
        [
            (route, "serialization", TypeAdapter(answer))
            for route, answer in answers.items()
            if answer is not Response
        ],
        ref_template="#/components/schemas/{model}",
    )
    paths: dict[str, Any] = {}
    for route in routes:
        content = (
            {"text/plain": {"schema": {"type": "string"}}}
            if answers[route] is Response
            else {"application/json": {"schema": schemas[route, "serialization"]}}
        )
        paths.setdefault(route.path, {})[route.method.lower()] = _operation(route, content)
    return {
        "openapi": "3.1.0",
        "info": {"title": "Gossamer admin API", "version": version},
        "components": {
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
            "schemas": definitions.get("$defs", {}),
        },
        "security": [{"token": []}],
        "paths": paths,
    }


def _operation(route: Endpoint, content: dict[str, Any]) -> dict[str, Any]:
    names = [part[1:-1] for part in route.parts if part.startswith("{")]
    parameters = [
        {"name": name, "in": "path", "required": True, "schema": {"type": "string"}}
        for name in names
    ]
    parameters += [
        {"name": name, "in": "query", "description": text, "schema": {"type": "string"}}
        for name, text in route.query.items()
    ]
    responses: dict[str, Any] = {"200": {"description": route.summary, "content": content}}
    if not route.is_open:
        responses["401"] = {"description": "The token is missing or wrong."}
    operation: dict[str, Any] = {"summary": route.summary, "responses": responses}
    if parameters:
        operation["parameters"] = parameters
    if route.is_open:
        operation["security"] = []
    return operation
