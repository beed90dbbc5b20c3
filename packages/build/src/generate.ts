import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { filesBelow, root, services, stampDir } from "./paths.ts";
import { readCompilerFromFile } from "./query-compiler.ts";
import { run } from "./run.ts";

interface Target {
  name: string;
  /** Files whose content decides whether the work must be done again. */
  inputs: string[];
  /** The generated directory. */
  output: string;
  generate(): Promise<unknown>;
}

function protoTarget(): Target | undefined {
  const dir = join(root, "proto");
  const template = join(dir, "buf.gen.yaml");
  if (!existsSync(template)) return undefined;
  const inputs = filesBelow(dir, (path) => /\.(proto|yaml|lock)$/.test(path)).map((path) => join(dir, path));
  return {
    name: "proto",
    inputs,
    output: join(dir, "gen"),
    generate: async () => {
      const buf = join(root, "node_modules/.bin/buf");
      await run(buf, ["generate", "--template", "buf.gen.yaml"], { cwd: dir });
      // For gRPC reflection. A plugin cannot write it: a plugin's output must be text.
      await run(buf, ["build", "-o", "gen/descriptors.binpb"], { cwd: dir });
    },
  };
}

function prismaTarget(service: string): Target | undefined {
  const dir = join(root, "services", service);
  const schema = join(dir, "prisma/schema.prisma");
  const output = join(dir, "src/store/generated");
  if (!existsSync(schema)) return undefined;
  // `prisma generate` would download an engine that it does not use; a path that exists prevents it.
  const env = { ...process.env, PRISMA_SCHEMA_ENGINE_BINARY: "/bin/true", PRISMA_HIDE_UPDATE_MESSAGE: "1" };
  return {
    name: `prisma-${service}`,
    inputs: [schema, join(import.meta.dirname, "query-compiler.ts")],
    output,
    generate: async () => {
      await run(join(root, "node_modules/.bin/prisma"), ["generate", "--schema", schema], { cwd: dir, env });
      const client = join(output, "internal/class.ts");
      writeFileSync(client, readCompilerFromFile(readFileSync(client, "utf8")));
    },
  };
}

function fingerprint(target: Target): string {
  const hash = createHash("sha256");
  for (const path of [...target.inputs, join(root, "package-lock.json")]) hash.update(path).update(readFileSync(path));
  return hash.digest("hex");
}

/**
 * Generates the stubs of proto/ and the Prisma client of each service where inputs changed. Returns the names
 * generated.
 */
export async function generate(): Promise<string[]> {
  mkdirSync(stampDir, { recursive: true });
  const made: string[] = [];
  const targets = [protoTarget(), ...services.map(prismaTarget)].filter((target) => target !== undefined);
  for (const target of targets) {
    const stamp = join(stampDir, `generated-${target.name}`);
    const wanted = fingerprint(target);
    if (existsSync(target.output) && existsSync(stamp) && readFileSync(stamp, "utf8") === wanted) continue;
    rmSync(stamp, { force: true });
    await target.generate();
    writeFileSync(stamp, wanted);
    made.push(target.name);
  }
  return made;
}
