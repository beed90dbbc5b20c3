"""A check of Schemathesis: a refusal has a documented code, and a body that fits its schema a documented cause."""

import schemathesis
from schemathesis import GenerationMode


def _documented(case, status):
    responses = case.operation.definition.raw["responses"]
    found = responses.get(str(status), {})
    if "$ref" in found:
        name = found["$ref"].split("/")[-1]
        return case.operation.schema.raw_schema["components"]["responses"][name]
    return found


@schemathesis.check
def documented_refusal(ctx, response, case):
    if response.status_code < 400 or case.method.upper() != case.operation.method.upper():
        return
    problem = response.json()
    documented = _documented(case, response.status_code)
    code = problem["error"]
    assert code in documented.get("x-error-codes", []), f"{code} is not documented"
    positive = case.meta is not None and case.meta.generation.mode == GenerationMode.POSITIVE
    if positive and code == "InvalidRequest":
        known = documented.get("x-beyond-schema", [])
        undocumented = [each for each in problem.get("errors", []) if each["pointer"] not in known]
        assert problem.get("errors") and not undocumented, f"the schema allows what was refused: {problem}"
