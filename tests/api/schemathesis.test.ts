import { join } from "node:path";
import { root } from "@countersign/build/paths.ts";
import { expect, it } from "vitest";
import { signUpPerson, stack, tokenOf } from "../support/person.ts";
import { document, runPython } from "./tools.ts";

/** Operations that end the session or the right to sign: the others need both. */
const ENDING = ["signOut", "endSession", "freezeAccount"];
/** Its answer does not end; tests/e2e/events.test.ts reads it. */
const ENDLESS = "watchEvents";

/**
 * Sends requests made from the document, valid and invalid ones, with a person's access token. The checks are
 * those of Schemathesis, and in schemathesis_checks.py our own about refusals.
 */
async function fuzz(choice: string[]): Promise<void> {
  const token = tokenOf(await signUpPerson());
  const checks = [
    "not_a_server_error",
    "status_code_conformance",
    "content_type_conformance",
    "response_headers_conformance",
    "response_schema_conformance",
    "ignored_auth",
    "unsupported_method",
    "documented_refusal",
  ];
  const options = [
    ...["--url", stack.gateway, "--header", `Authorization: Bearer ${token}`, "--checks", checks.join(",")],
    // A text with U+0000 is refused, as the document says in words.
    ...["--generation-allow-x00", "false", "--max-examples", "10", "--seed", "1", "--workers", "2"],
    ...["--phases", "examples,coverage,fuzzing", "--suppress-health-check", "all", "--request-timeout", "30"],
    ...["--continue-on-failure", "--no-color", "--warnings", "off"],
  ];
  const { text, code } = await runPython(["-m", "schemathesis.cli", "run", document, ...options, ...choice], {
    PYTHONPATH: join(root, "tests/api"),
    SCHEMATHESIS_HOOKS: "schemathesis_checks",
  });
  expect(text).toMatch(/Test cases:\n +[1-9]/);
  expect(code, text).toBe(0);
}

const named = (flag: string, operations: string[]) => operations.flatMap((each) => [flag, each]);

it(
  "Schemathesis finds no undocumented answer",
  () => fuzz(named("--exclude-operation-id", [...ENDING, ENDLESS])),
  480_000,
);

it("and none of the operations that end a session", () => fuzz(named("--include-operation-id", ENDING)), 120_000);
