import { execFile } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { stack } from "../support/person.ts";

/** A folder for the document of this worker's stack, and for generated code. */
export const work = mkdtempSync(join(tmpdir(), "countersign-api-"));
process.on("exit", () => rmSync(work, { recursive: true, force: true }));
export const document = join(work, "openapi.json");
const text = await (await fetch(`${stack.gateway}/openapi.json`)).text();
writeFileSync(document, text);

// biome-ignore lint/suspicious/noExplicitAny: a document of any shape
type Json = any;
const openApi: Json = JSON.parse(text);

/** Returns everything in a part of the document, that which it refers to included. */
function* partsOf(part: Json, seen = new Set<Json>()): Generator<Json> {
  if (typeof part !== "object" || part === null || seen.has(part)) return;
  seen.add(part);
  yield part;
  const places = part.$ref?.split("/").slice(1) as string[] | undefined;
  if (places)
    yield* partsOf(
      places.reduce((node: Json, name) => node[name], openApi),
      seen,
    );
  for (const each of Object.values(part)) yield* partsOf(each, seen);
}

const operations: Json[] = Object.values<Json>(openApi.paths).flatMap((methods) => Object.values(methods));
const answers = [...partsOf(operations.map(({ responses }) => responses))];

/** The names of the schemas, and of those that are part of an answer. */
export const schemaNames: string[] = Object.keys(openApi.components.schemas);
export const answerNames = schemaNames.filter((name) => answers.includes(openApi.components.schemas[name]));

/** The known values of the open enumerations of answers, by the names of their members. */
export const openEnumerations = new Map<string, Set<unknown>>();
for (const { properties } of answers) {
  for (const [name, schema] of Object.entries<Json>(properties ?? {})) {
    const known = openEnumerations.get(name) ?? new Set();
    for (const value of schema["x-extensible-enum"] ?? []) openEnumerations.set(name, known.add(value));
  }
}

/** Returns a variable that `npm run test:api` sets. */
function prepared(name: string): string {
  const value = process.env[name];
  if (value === undefined) throw new Error(`${name} is missing: run the tests by npm run test:api`);
  return value;
}

interface Output {
  /** Standard output and errors. */
  text: string;
  code: number;
}

/** Runs a program; returns its output also where it fails. */
export async function run(program: string, args: string[], env: Record<string, string> = {}): Promise<Output> {
  const options = { env: { ...process.env, ...env }, maxBuffer: 1 << 26, cwd: work };
  try {
    const { stdout, stderr } = await promisify(execFile)(program, args, options);
    return { text: stdout + stderr, code: 0 };
  } catch (error) {
    const { stdout = "", stderr = "", code } = error as { stdout?: string; stderr?: string; code?: number };
    if (typeof code !== "number") throw error;
    return { text: stdout + stderr, code };
  }
}

/** Runs a module of the tools in tests/api/requirements.txt. */
export const runPython = (args: string[], env: Record<string, string> = {}): Promise<Output> => {
  const python = prepared("CS_TEST_PYTHON");
  return run(python, args, { PATH: `${dirname(python)}:${process.env.PATH}`, ...env });
};

/** Programs of Java that run for seconds: compiled simply, they take half of the processor time. */
export const JVM = ["-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"];

/** Generates a client by openapi-generator; returns its folder and the tool's output. */
export async function generate(generator: string, options: string): Promise<Output & { folder: string }> {
  const folder = join(work, generator);
  mkdirSync(folder, { recursive: true });
  const jar = prepared("CS_TEST_OPENAPI_GENERATOR");
  const args = [...JVM, "-jar", jar, "generate", "-g", generator, "-i", document, "-o", folder];
  return { folder, ...(await run("java", [...args, `--additional-properties=${options}`])) };
}
