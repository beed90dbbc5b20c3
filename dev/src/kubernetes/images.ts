import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { root } from "@countersign/build/paths.ts";
import { run } from "@countersign/build/run.ts";
import { parse } from "yaml";
import { type Engine, findEngine } from "../docker/engine.ts";
import { build, commonOptions, type Target } from "../images.ts";
import { loadImage } from "./cluster.ts";

/** The tag of the working tree's images: the default of the chart and of deploy/trial. */
export const NOW: string = parse(readFileSync(join(root, "deploy/helm/countersign/Chart.yaml"), "utf8")).appVersion;
/** The tag of the images of the version before. */
export const BEFORE = "before";

const PRODUCTION: readonly Target[] = ["service", "migrate"];

/** Loads an image of the engine, or else of the registry, into the cluster. */
async function loadFromEngine(image: string, { env }: Engine): Promise<void> {
  const scratch = mkdtempSync(join(tmpdir(), "countersign-image-"));
  const archive = join(scratch, "image.tar");
  const save = () => run("docker", ["save", "--output", archive, image], { env });
  try {
    await save().catch(async () => {
      await run("docker", ["pull", image], { env });
      await save();
    });
    await loadImage(archive);
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

/**
 * Builds the images of the working tree and of an earlier checkout by deploy/Dockerfile, as `npm run images`
 * does, and loads them into the cluster, with the Postgres of a trial. All files have one time, so that both
 * versions share the layers that are equal. `hostTools`: a folder of collectHostTools.
 */
export async function loadImages(earlier: string, hostTools: string | undefined): Promise<void> {
  const say = (line: string) => console.log(line);
  const engine = await findEngine(say);
  try {
    const common = await commonOptions(engine, false, say);
    if (hostTools) common.push("--build-context", `go-tools=${hostTools}`);
    const load = async (target: Target, tag: string, checkout: string) => {
      const started = performance.now();
      const image = `countersign/${target}:${tag}`;
      await build(engine, target, [...common, "--tag", image], loadImage, checkout);
      say(`${image} is in the cluster (${Math.round((performance.now() - started) / 1000)} s)`);
    };
    for (const target of [...PRODUCTION, "local-stack"] as const) await load(target, NOW, root);
    for (const target of PRODUCTION) await load(target, BEFORE, earlier);
    const compose = parse(readFileSync(join(root, "docker-compose.yml"), "utf8"), { merge: true });
    await loadFromEngine(compose.services.postgres.image, engine);
  } finally {
    await engine.stop();
  }
}
