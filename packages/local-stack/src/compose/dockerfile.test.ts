import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "@countersign/build/paths.ts";
import { baseEnvironment } from "@countersign/local-stack/service-environment.ts";
import { HEAP_OPTIONS, NODE_FLAGS } from "@countersign/runtime/node-flags.ts";
import { describe, expect, it } from "vitest";
import { readComposeFile } from "./compose-file.ts";
import { contextFiles, copyOf, ignored, parseDockerfile, readDockerfile } from "./dockerfile.ts";

const file = readDockerfile();
const stages = new Map(file.stages.map((stage) => [stage.name, stage]));
const copies = file.stages.flatMap((stage) =>
  stage.instructions.filter(({ name }) => name === "COPY").map(({ text }) => ({ stage: stage.name, ...copyOf(text) })),
);
const packages = JSON.parse(readFileSync(join(root, "package-lock.json"), "utf8")).packages as Record<string, unknown>;
const workspaces = Object.keys(packages).filter((path) => path && !path.includes("node_modules"));

/** Paths that the stages make themselves: by npm, by the generator, by Go. */
const made =
  /^(\/app|\/build\/(bin|node_modules)|\/usr\/local\/bin\/node|\/app\/proto\/gen|\/app\/services\/\w+\/src\/store\/generated|\/app\/services\/signer\/cadence-parser\/dist)$/;

describe("deploy/Dockerfile", () => {
  it("copies what exists and is let through by .dockerignore", () => {
    for (const { from, sources, stage } of copies) {
      if (from !== undefined) {
        expect(stages.has(from), `${stage}: --from=${from}`).toBe(true);
        for (const source of sources) expect(source, stage).toMatch(made);
      } else {
        for (const source of sources) expect(contextFiles(source).length, `${stage}: ${source}`).toBeGreaterThan(0);
      }
    }
  });

  it("builds each stage on an earlier one or on an image with a version", () => {
    const earlier = new Set<string>();
    for (const { name, from } of file.stages) {
      expect(name).toMatch(/^[a-z-]+$/);
      expect(earlier.has(from) || /^[a-z]+:\d[\w.]*-[\w-]+$/.test(from), `${name} from ${from}`).toBe(true);
      for (const copy of copies.filter(({ stage }) => stage === name))
        if (copy.from !== undefined) expect(earlier.has(copy.from), `${name} copies from ${copy.from}`).toBe(true);
      earlier.add(name);
    }
  });

  it("has the manifest of every workspace, else npm refuses the lockfile", () => {
    const manifests = copies.filter(({ stage }) => stage === "manifests").flatMap(({ sources }) => sources);
    expect(manifests.toSorted()).toEqual(
      ["package.json", "package-lock.json", ...workspaces.map((path) => `${path}/package.json`)].toSorted(),
    );
  });

  it("brings every service's generated client", () => {
    const generated = copies.filter(({ stage, from }) => stage === "app" && from === "generated");
    const wanted = workspaces.filter((path) => existsSync(join(root, path, "prisma/schema.prisma")));
    expect(generated.flatMap(({ sources }) => sources).toSorted()).toEqual(
      ["/app/proto/gen", ...wanted.map((path) => `/app/${path}/src/store/generated`)].toSorted(),
    );
  });

  it("uses the versions that the checkout pins", () => {
    const { devDependencies } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
    expect(file.args.NODE_VERSION).toBe(devDependencies.node);
    const go = /^go (\d+\.\d+)/m.exec(readFileSync(join(root, "dev/tools/go.mod"), "utf8"))?.[1];
    expect(file.args.GO_VERSION).toBe(go);
  });

  it("gives V8 and malloc what the local stack gives them, and starts the gateway as it does", () => {
    const { instructions } = stages.get("app")!;
    const env = instructions.find(({ name }) => name === "ENV")?.text ?? "";
    expect(env).toContain(`NODE_OPTIONS="${HEAP_OPTIONS.join(" ")}"`);
    const malloc = Object.entries(baseEnvironment()).filter(([name]) => name.startsWith("MALLOC_"));
    expect(malloc).toHaveLength(2);
    for (const [name, value] of malloc) expect(env.split(" ")).toContain(`${name}=${value}`);
    expect(JSON.parse(instructions.at(-1)!.text)).toEqual(["node", ...NODE_FLAGS.gateway, "gateway/src/main.ts"]);
  });

  it("ends each image that runs as an unprivileged user, with a command, in exec form, and adds nothing from elsewhere", () => {
    for (const target of ["app", "tools"]) {
      const { instructions } = stages.get(target)!;
      expect(instructions.findLast(({ name }) => name === "USER")?.text).toBe("node");
      expect(instructions.at(-1)).toMatchObject({ name: "CMD", text: expect.stringMatching(/^\[".*"\]$/) });
      expect(instructions.filter(({ name }) => name === "RUN")).toEqual([]);
    }
    const everything = file.stages.flatMap(({ instructions }) => instructions);
    expect(everything.filter(({ name, text }) => name === "ADD" || /\b(curl|wget|sudo|apt-get)\b/.test(text))).toEqual(
      [],
    );
    expect(everything.filter(({ text }) => /--mount=type=(cache|secret)|:latest/.test(text))).toEqual([]);
  });

  it("installs production dependencies only for what runs", () => {
    const install = stages.get("production")?.instructions.find(({ name }) => name === "RUN")?.text;
    expect(install).toMatch(/^npm ci --omit=dev /);
    expect(copies.find(({ stage, from }) => stage === "app" && from === "production")?.sources).toEqual(["/app"]);
  });

  it("has a directory for every volume, which takes its owner from there", () => {
    const { services } = readComposeFile();
    const making = stages.get("base")?.instructions.find(({ name }) => name === "RUN")?.text ?? "";
    const paths = Object.values(services).flatMap(({ volumes = [] }) =>
      volumes.map((text) => text.split(":")[1] ?? ""),
    );
    for (const path of paths.filter((each) => each.startsWith("/state/"))) expect(`${making} `).toContain(`${path} `);
    for (const { image, build } of Object.values(services))
      if (build) expect(stages.has(build.target), image).toBe(true);
  });
});

describe("the readers of both formats", () => {
  it("join continued lines and fill in arguments", () => {
    const read = parseDockerfile(
      `# x\nARG V=1\nFROM a:\${V} AS one\nRUN a \\\n    b\nFROM one AS two\nCOPY --from=one /x y z\n`,
    );
    expect(read).toEqual({
      args: { V: "1" },
      stages: [
        { name: "one", from: "a:1", instructions: [{ name: "RUN", text: "a b" }] },
        { name: "two", from: "one", instructions: [{ name: "COPY", text: "--from=one /x y z" }] },
      ],
    });
    expect(copyOf("--from=one /x y z")).toEqual({ from: "one", sources: ["/x", "y"], target: "z" });
  });

  it.each([
    ["package.json", false],
    ["services/auth/src/main.ts", false],
    ["services/auth/src/store/generated/client.ts", true],
    ["services/auth/src/config.test.ts", true],
    ["services/auth/node_modules/x/index.js", true],
    ["proto/gen/x.ts", true],
    [".local/tls/ca.key", true],
    [".git/config", true],
    ["tests/support/person.ts", true],
    ["deploy/peers.json", false],
  ])("%s: kept from the builder: %s", (path, expected) => expect(ignored(path)).toBe(expected));
});
