import { spawnSync } from "node:child_process";
import { chmodSync, cpSync, existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { Failure } from "@countersign/build/fail.ts";
import { cacheDir, root } from "@countersign/build/paths.ts";
import { run } from "@countersign/build/run.ts";
import { debianMirror, installDebianPackages } from "@countersign/local-stack/debian-packages.ts";
import { installedPostgres } from "@countersign/local-stack/postgres-binaries.ts";

const PULL_MS = 120_000;
/** The label of images without a registry, and of those that are built on them. */
export const SUBSTITUTE = "countersign.substitute";
const CERTIFICATES = "/etc/ssl/certs/ca-certificates.crt";
/** Parts of Debian that its own slim images leave out too. */
const NOT_SLIM = ["usr/share/doc", "usr/share/man", "usr/share/info", "usr/share/locale", "var/cache/apt/archives"];

type Say = (line: string) => void;

/** Makes an image of a name, on top of `debian`, where no registry has it. */
type Substitute = (image: string, env: NodeJS.ProcessEnv, debian: string) => Promise<void>;

const folderOf = (name: string): string => {
  const folder = join(cacheDir(), "docker", "substitutes", name);
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  return folder;
};

const docker = (args: string[], env: NodeJS.ProcessEnv) => run("docker", args, { env });

async function build(image: string, folder: string, dockerfile: string, env: NodeJS.ProcessEnv): Promise<void> {
  writeFileSync(join(folder, "Dockerfile"), dockerfile);
  await docker(["build", "--quiet", "--tag", image, folder], env);
}

/** Debian's smallest system by debootstrap, with this machine's mirror, certificates and settings of apt. */
const debian: Substitute = async (image, env) => {
  const suite = image.replace(/^debian:|-slim$/g, "");
  const folder = join(folderOf("debian"), "root");
  const mirror = debianMirror() ?? "http://deb.debian.org/debian";
  await run("debootstrap", ["--variant=minbase", "--include=ca-certificates", suite, folder, mirror]);
  const sources = `deb ${mirror} ${suite} main\ndeb ${mirror}-security ${suite}-security main\n`;
  writeFileSync(join(folder, "etc/apt/sources.list"), sources);
  cpSync("/etc/apt/apt.conf.d", join(folder, "etc/apt/apt.conf.d"), { recursive: true });
  cpSync(CERTIFICATES, join(folder, CERTIFICATES), { dereference: true });
  for (const path of [...NOT_SLIM, "var/lib/apt/lists", "etc/resolv.conf", "etc/hostname"])
    rmSync(join(folder, path), { recursive: true, force: true });
  mkdirSync(join(folder, "var/cache/apt/archives/partial"), { recursive: true });
  const archive = join(dirname(folder), "root.tar");
  await run("tar", ["-C", folder, "-cf", archive, "."]);
  await docker(["import", "--change", 'CMD ["bash"]', "--change", `LABEL ${SUBSTITUTE}=true`, archive, image], env);
  rmSync(dirname(folder), { recursive: true });
};

/** Node of the checkout, whose version the Dockerfile names too, and npm of the registry. */
const node: Substitute = async (image, env, base) => {
  const folder = folderOf("node");
  const npm = join(folder, "local/lib/node_modules/npm");
  for (const path of [npm, join(folder, "local/bin"), join(folder, "local/etc")]) mkdirSync(path, { recursive: true });
  cpSync(join(root, "node_modules/node/bin/node"), join(folder, "local/bin/node"), { dereference: true });
  await run("npm", ["pack", "--silent", "npm@11"], { cwd: folder });
  await run("sh", ["-c", `tar -xzf npm-*.tgz -C ${npm} --strip-components=1 && rm npm-*.tgz`], { cwd: folder });
  for (const name of ["npm", "npx"]) {
    chmodSync(join(npm, `bin/${name}-cli.js`), 0o755);
    symlinkSync(`../lib/node_modules/npm/bin/${name}-cli.js`, join(folder, "local/bin", name));
  }
  writeFileSync(join(folder, "local/etc/npmrc"), `cafile=${CERTIFICATES}\n`);
  await build(image, folder, `FROM ${base}\nCOPY local/ /usr/local/\nCMD ["node"]\n`, env);
};

/** Go of this machine, and Debian's C compiler. */
const golang: Substitute = async (image, env, base) => {
  const { stdout, status } = spawnSync("go", ["env", "GOROOT"], { encoding: "utf8" });
  if (status !== 0) throw new Failure(`Go is missing, from which ${image} is made.`);
  const folder = folderOf("go");
  const unused = [join(stdout.trim(), "test"), join(stdout.trim(), "api")];
  cpSync(stdout.trim(), join(folder, "go"), {
    recursive: true,
    dereference: true,
    filter: (path) => !unused.includes(path),
  });
  await build(
    image,
    folder,
    `FROM ${base}
RUN apt-get update && apt-get install -y --no-install-recommends g++ gcc git libc6-dev make pkg-config && rm -rf /var/lib/apt/lists/*
ENV GOTOOLCHAIN=local GOPATH=/go PATH=/go/bin:/usr/local/go/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
COPY go/ /usr/local/go/
RUN mkdir -p /go/src /go/bin /go/pkg && go version
`,
    env,
  );
};

/** The part of the official entrypoint that docker-compose.yml uses. */
const POSTGRES_ENTRYPOINT = `#!/bin/bash
set -eu
if [ "$1" = postgres ] && [ ! -s "$PGDATA/PG_VERSION" ]; then
  mkdir -p "$PGDATA" && chmod 700 "$PGDATA"
  eval "initdb --username=postgres --pwfile='$POSTGRES_PASSWORD_FILE' --pgdata='$PGDATA' \${POSTGRES_INITDB_ARGS:-}"
  printf 'host all all all scram-sha-256\\n' >>"$PGDATA/pg_hba.conf"
fi
[ "$1" != postgres ] || set -- "$@" -c listen_addresses='*' -c unix_socket_directories=/var/run/postgresql
exec "$@"
`;

/** Postgres of the npm package that the local stack uses, and Debian's pg_isready. */
const postgres: Substitute = async (image, env, base) => {
  const folder = folderOf("postgres");
  cpSync(installedPostgres(), join(folder, "native"), { recursive: true, verbatimSymlinks: true });
  writeFileSync(join(folder, "entrypoint"), POSTGRES_ENTRYPOINT, { mode: 0o755 });
  await build(
    image,
    folder,
    `FROM ${base}
RUN apt-get update && apt-get install -y --no-install-recommends postgresql-client && rm -rf /var/lib/apt/lists/* \\
    && (id postgres >/dev/null 2>&1 || useradd --system --uid 999 --home-dir /var/lib/postgresql postgres) \\
    && install --directory --owner postgres --group postgres --mode 1777 /var/lib/postgresql \\
    && install --directory --owner postgres --group postgres --mode 3777 /var/run/postgresql
COPY native/ /usr/lib/postgresql/18/
COPY entrypoint /usr/local/bin/docker-entrypoint.sh
ENV PGDATA=/var/lib/postgresql/18/docker PATH=/usr/lib/postgresql/18/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
VOLUME /var/lib/postgresql
ENTRYPOINT ["docker-entrypoint.sh"]
STOPSIGNAL SIGINT
CMD ["postgres"]
`,
    env,
  );
};

/** By the name before the tag, in the order in which they are made. */
const SUBSTITUTES: Readonly<Record<string, Substitute>> = { debian, node, golang, postgres };

/** Returns the images that deploy/Dockerfile and docker-compose.yml take from a registry, Debian's first. */
function baseImages(): string[] {
  const dockerfile = readFileSync(join(root, "deploy/Dockerfile"), "utf8");
  const compose = readFileSync(join(root, "docker-compose.yml"), "utf8");
  const named = [...dockerfile.matchAll(/^ARG \w+_IMAGE=(\S+)/gm), ...compose.matchAll(/^\s+image: (postgres:\S+)/gm)];
  const order = Object.keys(SUBSTITUTES);
  const rank = (image: string) => order.indexOf(image.split(":")[0] ?? "");
  return named.map((match) => match[1] as string).sort((a, b) => rank(a) - rank(b));
}

const succeeds = (args: string[], env: NodeJS.ProcessEnv): boolean =>
  spawnSync("docker", args, { env, stdio: "ignore", timeout: PULL_MS }).status === 0;

/**
 * Makes sure that the engine has every base image. Those that no registry gives are made from packages of
 * Debian, npm and Go: the same programs, but not the same bytes.
 */
export async function ensureBaseImages(env: NodeJS.ProcessEnv, say: Say): Promise<void> {
  const images = baseImages();
  const missing = images.filter((image) => !succeeds(["image", "inspect", image], env));
  const [first] = missing;
  // One of them shows whether a registry answers.
  if (first !== undefined && succeeds(["pull", first], env)) return;
  for (const image of missing) {
    const name = image.split(":")[0] ?? "";
    const make = SUBSTITUTES[name];
    if (!make) throw new Failure(`no registry answers, and nothing takes the place of ${image}.`);
    if (name === "debian") {
      const problem = existsSync("/usr/sbin/debootstrap") ? "" : await installDebianPackages(["debootstrap"], say);
      if (problem) throw new Failure(`no image registry answers, and debootstrap is missing: ${problem}`);
    }
    say(`no image registry answers: making ${image} …`);
    await make(image, env, images[0] as string);
  }
}
