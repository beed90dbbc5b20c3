import { cpSync, mkdirSync } from "node:fs";
import { basename, dirname, join, relative } from "node:path";
import { Failure } from "@countersign/build/fail.ts";
import { root } from "@countersign/build/paths.ts";
import { run } from "@countersign/build/run.ts";
import { contextFiles, copyOf, readDockerfile, type Stage } from "./dockerfile.ts";

/** Stages whose outcome the checkout has already, by the same command. */
const asInCheckout = ["generated", "parser"];

/**
 * Builds /app of one stage as deploy/Dockerfile does, in a directory of this machine: the same files,
 * filtered by .dockerignore, and the same commands. Needs npm on the path and the checkout's generated code.
 * Returns the directory that represents /app.
 */
export async function assembleImage(target: string, directory: string, say: (line: string) => void): Promise<string> {
  const { stages } = readDockerfile();
  const stageNamed = (name: string): Stage | undefined => stages.find((stage) => stage.name === name);
  const done = new Map<string, string>();

  async function assemble(stage: Stage): Promise<string> {
    const known = done.get(stage.name);
    if (known) return known;
    const app = join(directory, stage.name);
    mkdirSync(app, { recursive: true });
    done.set(stage.name, app);
    const below = stageNamed(stage.from);
    if (below) cpSync(await assemble(below), app, { recursive: true, verbatimSymlinks: true });
    else return app; // the base image: its commands are about the image's system
    for (const { name, text } of stage.instructions) {
      if (name === "COPY") await copy(text, app);
      else if (name === "RUN") {
        say(`${stage.name}: ${text}`);
        await run("sh", ["-c", `${text} --prefer-offline`], { cwd: app, env: { ...process.env, NODE_ENV: "" } });
      } else if (!["ENV", "USER", "CMD"].includes(name)) throw new Failure(`${name} is not understood here.`);
    }
    return app;
  }

  async function copy(text: string, app: string): Promise<void> {
    const { from, sources, target: to } = copyOf(text);
    for (const source of sources) {
      if (from === undefined) {
        for (const file of contextFiles(source)) {
          // A directory's content lands below the target; a file lands in it, or has it as its new name.
          const name = file === source ? (to.endsWith("/") ? basename(file) : "") : relative(source, file);
          const place = join(app, to, name);
          mkdirSync(dirname(place), { recursive: true });
          cpSync(join(root, file), place);
        }
        continue;
      }
      const origin = asInCheckout.includes(from) ? root : await assemble(stageNamed(from) as Stage);
      cpSync(source.replace(/^\/app/, origin), to === "/app" ? app : join(app, to), {
        recursive: true,
        verbatimSymlinks: true,
      });
    }
  }

  const stage = stageNamed(target);
  if (!stage) throw new Failure(`deploy/Dockerfile has no stage ${target}.`);
  return assemble(stage);
}
