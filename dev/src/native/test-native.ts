import { existsSync } from "node:fs";
import { Failure } from "@countersign/build/fail.ts";
import { runProject } from "../test.ts";
import { ensureGenerator, ensureJava } from "../test-api.ts";
import { generateClients } from "./generate-clients.ts";
import { ensureSwift } from "./swift.ts";

/** `npm run test:native`: builds the native clients and runs their tests, also against a stack. */
export async function testNative(args: readonly string[]): Promise<number> {
  await ensureJava();
  await ensureGenerator();
  const swift = await ensureSwift();
  return runProject("native", args, { CS_TEST_SWIFT: swift });
}

/** `npm run build:clients`: writes the generated code of the native clients. Errors: Failure, no document. */
export async function buildClients(document: string): Promise<void> {
  const isThere = /^https?:/.test(document)
    ? await fetch(document).then(
        ({ ok }) => ok,
        () => false,
      )
    : existsSync(document);
  if (!isThere)
    throw new Failure(`${document} is not there: run \`npm start\` in another terminal first, or give its --document.`);
  await ensureJava();
  await generateClients(document, await ensureGenerator());
  console.log("wrote clients/kotlin/client/generated and clients/swift/Sources/CountersignAPI/generated");
}
