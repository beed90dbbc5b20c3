import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "@countersign/build/paths.ts";
import { afterAll, beforeAll, expect, it } from "vitest";
import { buildClients, run, startLogins } from "./tools.ts";

const project = join(root, "clients/kotlin");
/** Programs of Java that run for seconds: compiled simply, they take half of the processor time. */
const MAVEN_OPTS = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC";

let logins: Awaited<ReturnType<typeof startLogins>>;
beforeAll(async () => {
  logins = await startLogins();
  await buildClients();
});
afterAll(() => logins.close());

it("Kotlin: the client agrees with the vectors, and its tests pass against the stack", async () => {
  const args = ["-q", "-B", "-f", join(project, "pom.xml"), "-Dtests.without=", "test"];
  const { text, code } = await run("mvn", args, { ...logins.env, MAVEN_OPTS });
  expect(code, text).toBe(0);
  const reports = join(project, "client/target/surefire-reports");
  const suites = readdirSync(reports).filter((file) => file.endsWith(".xml"));
  const counts = suites.map((file) => /<testsuite [^>]*/.exec(readFileSync(join(reports, file), "utf8"))?.[0] ?? "");
  expect(counts.length).toBeGreaterThanOrEqual(2);
  for (const suite of counts) expect(suite).toMatch(/ tests="[1-9]\d*" errors="0" skipped="0" failures="0"/);
});
