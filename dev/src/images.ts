import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Failure } from "@countersign/build/fail.ts";
import { root } from "@countersign/build/paths.ts";
import { run } from "@countersign/build/run.ts";
import { ensureBaseImages } from "./docker/base-images.ts";
import { type Engine, findEngine } from "./docker/engine.ts";

/** Targets of deploy/Dockerfile; the images are called countersign/<target>. */
const TARGETS = ["service", "migrate", "local-stack"] as const;
/**
 * The ones for production, whose builds are compared, with their option for a new build. Both begin with the
 * same stages, which the build of the service makes again.
 */
const PRODUCTION = [
  ["service", "--no-cache"],
  ["migrate", "--no-cache-filter=migrate-files,migrate"],
] as const;
export type Target = (typeof TARGETS)[number];

const LOCK = join(root, "deploy/base-images.json");

interface Lock {
  about: string;
  /** By image. */
  digests: Record<string, string>;
}

const readLock = (): Lock => JSON.parse(readFileSync(LOCK, "utf8"));

/** Returns the base images of the Dockerfile, by build argument. */
function baseImages(): [argument: string, image: string][] {
  const text = readFileSync(join(root, "deploy/Dockerfile"), "utf8");
  return [...text.matchAll(/^ARG (\w+_IMAGE)=(\S+)$/gm)].map((match) => [match[1] as string, match[2] as string]);
}

/** Returns the arguments that pin the base images; undefined where a digest is not known. */
function pins(): string[] | undefined {
  const { digests } = readLock();
  const images = baseImages();
  if (images.some(([, image]) => digests[image] === undefined)) return undefined;
  return images.flatMap(([argument, image]) => ["--build-arg", `${argument}=${image}@${digests[image]}`]);
}

/** Asks the registry for the digests of the base images and writes them to deploy/base-images.json. */
async function pin({ env }: Engine): Promise<void> {
  const lock = readLock();
  lock.digests = {};
  for (const [, image] of baseImages()) {
    const output = await run("docker", ["buildx", "imagetools", "inspect", image, "--format", "{{json .Manifest}}"], {
      env,
    });
    lock.digests[image] = JSON.parse(output).digest;
    console.log(`${image}@${lock.digests[image]}`);
  }
  writeFileSync(LOCK, `${JSON.stringify(lock, null, 2)}\n`);
}

/** Returns the build argument with the time that all files of an image get: the last commit's. */
async function sourceDate(): Promise<string[]> {
  const epoch = process.env.SOURCE_DATE_EPOCH ?? (await run("git", ["log", "-1", "--format=%ct"])).trim();
  return ["--build-arg", `SOURCE_DATE_EPOCH=${epoch}`];
}

/**
 * Returns the options that all builds share: the time of files, and the digests of the base images. Where
 * these are not pinned, makes sure that the engine has the base images.
 */
export async function commonOptions(engine: Engine, unpinned: boolean, say: (line: string) => void): Promise<string[]> {
  const pinned = unpinned ? undefined : pins();
  if (!pinned) {
    say("the base images are not pinned: `npm run images -- --pin` asks the registry for their digests");
    await ensureBaseImages(engine.env, say);
  }
  return [...(await sourceDate()), ...(pinned ?? [])];
}

/** Builds a checkout's target, whose archive is handed to `use`, and returns the image's digest. */
export async function build(
  { env }: Engine,
  target: Target,
  options: readonly string[],
  use: (archive: string) => Promise<unknown> = async () => undefined,
  checkout = root,
): Promise<string> {
  const scratch = mkdtempSync(join(tmpdir(), "countersign-image-"));
  const archive = join(scratch, "image.tar");
  const metadata = join(scratch, "metadata.json");
  try {
    await run(
      "docker",
      [
        ...["buildx", "build", "--file", "deploy/Dockerfile", "--target", target, "--progress", "plain"],
        // Attestations name the time of the build.
        ...["--provenance=false", "--sbom=false", ...options],
        // Not straight into the engine: that cannot rewrite the times of files.
        ...["--output", `type=docker,dest=${archive},rewrite-timestamp=true`, "--metadata-file", metadata, "."],
      ],
      { env, cwd: checkout },
    );
    await use(archive);
    return JSON.parse(readFileSync(metadata, "utf8"))["containerimage.digest"];
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

/** Returns the megabytes of an image's files. `docker images` adds the compressed layers to them. */
export async function sizeOf(image: string, { env }: Engine): Promise<number> {
  const command = ["run", "--rm", "--network", "none", "--user", "0", "--entrypoint", "du", image, "-xsBMB", "/"];
  return Number.parseInt(await run("docker", command, { env }), 10);
}

/**
 * Builds the images into the engine, and writes their bills of materials to
 * .local/images.
 */
async function buildAll(
  engine: Engine,
  targets: readonly Target[],
  tag: string,
  common: readonly string[],
): Promise<void> {
  const folder = join(root, ".local/images");
  mkdirSync(folder, { recursive: true });
  for (const target of targets) {
    const image = `countersign/${target}:${tag}`;
    const started = performance.now();
    const load = (archive: string) => run("docker", ["load", "--input", archive], { env: engine.env });
    const digest = await build(engine, target, [...common, "--tag", image], load);
    const seconds = Math.round((performance.now() - started) / 1000);
    console.log(`${image}  ${digest}  ${await sizeOf(image, engine)} MB  (${seconds} s)`);
    const sbom = await run("docker", ["run", "--rm", "--entrypoint", "cat", image, "/app/sbom.cdx.json"], {
      env: engine.env,
    });
    writeFileSync(join(folder, `${target}.cdx.json`), sbom);
  }
  console.log("bills of materials (CycloneDX): .local/images/*.cdx.json");
}

/** Builds the images for production twice from nothing and compares their digests. */
async function checkReproducible(engine: Engine, common: readonly string[]): Promise<void> {
  const first = new Map<Target, string>();
  const different: string[] = [];
  for (const turn of [1, 2]) {
    for (const [target, again] of PRODUCTION) {
      const digest = await build(engine, target, [...common, again]);
      console.log(`countersign/${target}, build ${turn}: ${digest}`);
      if (turn === 1) first.set(target, digest);
      else if (digest !== first.get(target)) different.push(target);
    }
  }
  if (different.length > 0) throw new Failure(`two builds of ${different.join(" and ")} have different digests.`);
  console.log("reproducible: two builds from nothing have one digest each");
}

export interface ImagesOptions {
  tag: string;
  pin: boolean;
  unpinned: boolean;
  check: boolean;
}

/** `npm run images`: builds all or the named images; or pins their base images, or compares two builds. */
export async function images(options: ImagesOptions, named: readonly string[]): Promise<void> {
  const targets = TARGETS.filter((target) => named.length === 0 || named.includes(target));
  const unknown = named.filter((name) => !targets.includes(name as Target));
  if (unknown.length > 0) throw new Failure(`no such image: ${unknown.join(", ")}. Images: ${TARGETS.join(", ")}.`);
  const say = (line: string) => console.log(line);
  const engine = await findEngine(say);
  if (options.pin) return pin(engine);
  const common = await commonOptions(engine, options.unpinned, say);
  await (options.check ? checkReproducible(engine, common) : buildAll(engine, targets, options.tag, common));
}
