import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "@countersign/build/paths.ts";
import { afterAll, beforeAll, expect, it } from "vitest";
import { blocksOf } from "../docs/blocks.ts";
import { buildClients, run, startLogins } from "./tools.ts";

const project = join(root, "clients/kotlin");
/** Programs of Java that run for seconds: compiled simply, they take half of the processor time. */
const MAVEN_OPTS = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC";

/** The program of docs/native.md, and a test that runs it. */
const blocks = join(root, ".local/native-blocks");
const [program] = blocksOf("native").filter(({ language }) => language === "kotlin");
const RUN = `
@org.junit.jupiter.api.Tag("stack")
class NativePageTest {
    @org.junit.jupiter.api.Test
    fun \`the program of the page has a transaction sealed\`() = kotlinx.coroutines.runBlocking {
        val keys = countersign.client.MemoryKeyStore()
        val id = openAndGreet(System.getenv("GATEWAY"), keys) { logInAs(it) }
        org.junit.jupiter.api.Assertions.assertEquals(64, id.length)
    }
}

private fun logInAs(nonce: String): Login {
    val url = System.getenv("LOGIN_URL") + "?email=page-\${java.util.UUID.randomUUID()}@example.com&nonce=" + nonce
    return Login(java.net.URI(url).toURL().readText())
}
`;

let logins: Awaited<ReturnType<typeof startLogins>>;
beforeAll(async () => {
  logins = await startLogins();
  await buildClients();
  mkdirSync(blocks, { recursive: true });
  writeFileSync(join(blocks, "NativePageTest.kt"), `${program?.text}${RUN}`);
});
afterAll(() => logins.close());

it("Kotlin: the client agrees with the vectors, and its tests pass against the stack", async () => {
  const args = ["-q", "-B", "-f", join(project, "pom.xml"), "-Dtests.without=", `-Dtests.blocks=${blocks}`, "test"];
  const { text, code } = await run("mvn", args, { ...logins.env, MAVEN_OPTS });
  expect(code, text).toBe(0);
  const reports = join(project, "client/target/surefire-reports");
  const suites = readdirSync(reports).filter((file) => file.endsWith(".xml"));
  const counts = suites.map((file) => /<testsuite [^>]*/.exec(readFileSync(join(reports, file), "utf8"))?.[0] ?? "");
  expect(counts.length).toBeGreaterThanOrEqual(3);
  for (const suite of counts) expect(suite).toMatch(/ tests="[1-9]\d*" errors="0" skipped="0" failures="0"/);
});
