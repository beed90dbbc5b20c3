import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import {
  copyFileSync,
  cpSync,
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { cacheDir, root } from "@countersign/build/paths.ts";
import { run } from "@countersign/build/run.ts";

const cache = join(cacheDir(), "kubernetes-images");

/** The files of a checkout that the production image contains, besides those that npm installs. */
const SOURCES = [
  "package.json",
  "packages",
  "services",
  "gateway",
  "proto/package.json",
  "proto/gen",
  "deploy/peers.json",
];
/** As the production image sets them. */
const ENVIRONMENT = [
  "PATH=/usr/local/bin",
  "NODE_ENV=production",
  "NODE_OPTIONS=--max-semi-space-size=8 --max-old-space-size=256",
  "MALLOC_ARENA_MAX=2",
];

/** Returns the shared libraries that a program loads, with the dynamic linker. */
const librariesOf = (program: string): string[] => [
  ...new Set(execFileSync("ldd", [program], { encoding: "utf8" }).match(/\/\S+\.so[.\d]*/g) ?? []),
];

const tar = (archive: string, directory: string, ...paths: string[]) =>
  run("tar", [
    "--create",
    "--file",
    archive,
    "--owner=0",
    "--group=0",
    // Files that only their owner reads are another user's in the image.
    "--mode=a+rX",
    "--exclude=node_modules/.cache",
    "--directory",
    directory,
    ...paths,
  ]);

/** Returns the layer with Node, its libraries and the production dependencies: made once per lockfile. */
async function runtimeLayer(checkout: string): Promise<string> {
  const lock = createHash("sha256")
    .update(readFileSync(join(checkout, "package-lock.json")))
    .digest("hex")
    .slice(0, 12);
  const layer = join(cache, `runtime-${process.versions.node}-${lock}.tar`);
  if (existsSync(layer)) return layer;
  mkdirSync(cache, { recursive: true });
  const scratch = mkdtempSync(join(cache, "runtime-"));
  try {
    const files = join(scratch, "files");
    const app = join(files, "app");
    for (const directory of [app, join(files, "etc"), join(files, "usr/local/bin")])
      mkdirSync(directory, { recursive: true });
    writeFileSync(join(files, "etc/nsswitch.conf"), "hosts: files dns\n");
    writeFileSync(join(files, "etc/passwd"), "countersign:x:10001:10001::/app:/\n");
    cpSync(process.execPath, join(files, "usr/local/bin/node"));
    for (const library of librariesOf(process.execPath)) {
      mkdirSync(join(files, dirname(library)), { recursive: true });
      copyFileSync(library, join(files, library));
    }
    const manifests = globSync(
      [
        "package.json",
        "package-lock.json",
        "{packages,services}/*/package.json",
        "{proto,gateway,dev,tests,bench}/package.json",
      ],
      { cwd: checkout },
    );
    for (const manifest of manifests) cpSync(join(checkout, manifest), join(app, manifest));
    const install = [
      "ci",
      "--omit=dev",
      "--omit=optional",
      "--ignore-scripts",
      "--no-audit",
      "--no-fund",
      "--prefer-offline",
    ];
    await run("npm", install, { cwd: app });
    await tar(`${layer}.new`, files, ".");
    renameSync(`${layer}.new`, layer);
    return layer;
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

/** The entry points of the production images. */
const ENTRYPOINTS = {
  service: ["node", "--disable-sigusr1", "--no-allocation-site-pretenuring"],
  migrate: ["node", "packages/migrations/src/cli.ts"],
};

/** Names of the images in the cluster's own store. */
export const imageNames = (tag: string) => ({
  service: "localhost/countersign-service",
  migrate: "localhost/countersign-migrate",
  tag,
});
export type ImageNames = ReturnType<typeof imageNames>;

/**
 * Writes the images of a checkout as docker archives, without a container engine: what deploy/Dockerfile's
 * production images contain, with this machine's Node and C library. Returns their paths.
 */
export async function buildImages(names: ImageNames, checkout = root): Promise<string[]> {
  const runtime = await runtimeLayer(checkout);
  const files = join(cache, `${names.tag}.tar`);
  await tar(files, checkout, "--exclude=node_modules", "--exclude=*.test.ts", "--transform=s,^,app/,", ...SOURCES);
  const script = join(root, "dev/kubernetes/archive.sh");
  const archives: string[] = [];
  for (const image of ["service", "migrate"] as const) {
    const archive = join(cache, `${image}-${names.tag}.tar`);
    const env = {
      ...process.env,
      USER_ID: "10001:10001",
      WORKDIR: "/app",
      ENVIRONMENT: JSON.stringify(ENVIRONMENT),
      ENTRYPOINT: JSON.stringify(ENTRYPOINTS[image]),
    };
    const reference = `${names[image]}:${names.tag}`;
    await run("bash", ["-c", '"$0" "$1" "$2" "$3" > "$4"', script, reference, runtime, files, archive], { env });
    archives.push(archive);
  }
  rmSync(files);
  return archives;
}

/**
 * Checks an earlier commit out beside this one, with its generated code. Returns its directory; undefined
 * where that commit has no chart.
 */
export async function checkOutEarlier(commit: string): Promise<string | undefined> {
  const git = (...args: string[]) => execFileSync("git", args, { cwd: root, encoding: "utf8" }).trim();
  const chart = git("ls-tree", "--name-only", commit, "deploy/helm/countersign/Chart.yaml");
  if (chart === "") return undefined;
  const directory = join(cache, "earlier");
  const isThere = existsSync(join(directory, "services/signer/cadence-parser/dist"));
  if (isThere && git("-C", directory, "rev-parse", "HEAD") === git("rev-parse", commit)) return directory;
  if (existsSync(directory)) git("worktree", "remove", "--force", directory);
  mkdirSync(dirname(directory), { recursive: true });
  git("worktree", "add", "--detach", directory, commit);
  // Hard links: only the stamps of generated code are written to.
  execFileSync("cp", ["--archive", "--link", join(root, "node_modules"), directory]);
  rmSync(join(directory, "node_modules/.cache"), { recursive: true, force: true });
  await run(process.execPath, ["dev/src/main.ts", "generate"], { cwd: directory });
  await run(process.execPath, ["packages/build/src/build-cadence-parser.ts"], { cwd: directory });
  return directory;
}
