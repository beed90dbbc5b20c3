import { execFile } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { stack } from "../support/person.ts";

/** The document of this worker's stack, in a folder for generated code. */
export const work = mkdtempSync(join(tmpdir(), "countersign-api-"));
process.on("exit", () => rmSync(work, { recursive: true, force: true }));
export const document = join(work, "openapi.json");
const answer = await fetch(`${stack.gateway}/openapi.json`);
writeFileSync(document, await answer.text());

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

/** Generates a client by openapi-generator; returns its folder and the tool's output. */
export async function generate(generator: string, options: string): Promise<Output & { folder: string }> {
  const folder = join(work, generator);
  mkdirSync(folder, { recursive: true });
  const jar = prepared("CS_TEST_OPENAPI_GENERATOR");
  const args = ["-jar", jar, "generate", "-g", generator, "-i", document, "-o", folder];
  return { folder, ...(await run("java", [...args, `--additional-properties=${options}`])) };
}
