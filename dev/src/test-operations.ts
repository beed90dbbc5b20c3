import { ensureCheckout, previousCommit } from "@countersign/local-stack/previous-version.ts";
import { runProject, runVitest } from "./test.ts";

/**
 * `npm run test:operations`: tests/operations, then tests/faults with two versions at once. Arguments of
 * vitest choose among tests/operations only.
 */
export async function testOperations(args: readonly string[]): Promise<number> {
  const previous = await ensureCheckout(await previousCommit(), console.log);
  const code = await runProject("operations", args, { CS_TEST_PREVIOUS: previous });
  if (code !== 0 || args.length > 0) return code;
  return runVitest(["--project=faults"], { CS_TEST_MIXED_WITH: previous });
}
