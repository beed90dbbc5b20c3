import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { Failure } from "@countersign/build/fail.ts";
import { cacheDir, root } from "@countersign/build/paths.ts";
import { run } from "@countersign/build/run.ts";
import { installDebianPackages } from "@countersign/local-stack/debian-packages.ts";
import { ensurePython } from "@countersign/local-stack/python.ts";
import { runProject } from "./test.ts";

const GENERATOR = "7.17.0";

/**
 * `npm run test:api`: validates the OpenAPI document, sends requests that are made from it to a stack, and
 * uses generated clients. Needs Python 3.11, Java 17 and Maven.
 */
export async function testApi(args: readonly string[]): Promise<number> {
  await ensureJava();
  const python = await ensurePython(join(root, "tests/api/requirements.txt"));
  const generator = await ensureGenerator();
  return runProject("api", args, { CS_TEST_PYTHON: python, CS_TEST_OPENAPI_GENERATOR: generator });
}

/** Finds Java and Maven, or installs them where this process may. */
export async function ensureJava(): Promise<void> {
  const isThere = () => ["java", "mvn"].every((name) => spawnSync(name, ["-version"]).status === 0);
  if (isThere()) return;
  const packages = ["openjdk-17-jdk-headless", "maven"];
  const problem = await installDebianPackages(packages, (line) => console.log(line));
  if (!isThere()) throw new Failure(`Java 17 and Maven are missing: install ${packages.join(" and ")}. ${problem}`);
}

/** Returns openapi-generator, fetched once per machine from Maven's repository. */
export async function ensureGenerator(): Promise<string> {
  const directory = join(cacheDir(), "openapi-generator");
  const jar = join(directory, `openapi-generator-cli-${GENERATOR}.jar`);
  if (existsSync(jar)) return jar;
  mkdirSync(directory, { recursive: true });
  const artifact = `org.openapitools:openapi-generator-cli:${GENERATOR}`;
  const plugin = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1";
  await run("mvn", ["-q", "-B", `${plugin}:get`, `-Dartifact=${artifact}`, "-Dtransitive=false"]);
  await run("mvn", ["-q", "-B", `${plugin}:copy`, `-Dartifact=${artifact}`, `-DoutputDirectory=${directory}`]);
  return jar;
}
