import { existsSync, mkdirSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { run } from "@countersign/build/run.ts";
import { startChild } from "@countersign/local-stack/child.ts";
import { freePorts } from "@countersign/local-stack/ports.ts";
import { buildDirectory, type Peer, type PeerOptions, sendJson, untilAnswers } from "./peer.ts";

/**
 * Returns OpenBao's binary: the one that CS_OPENBAO names, or built from the checkout that it names;
 * undefined where it is not set, since OpenBao is in no package registry.
 */
async function binary(say: (line: string) => void): Promise<string | undefined> {
  const named = process.env.CS_OPENBAO;
  if (!named || !statSync(named).isDirectory()) return named;
  const revision = (await run("git", ["rev-parse", "--short", "HEAD"], { cwd: named })).trim();
  const target = join(buildDirectory("openbao"), `bao-${revision}`);
  if (!existsSync(target)) {
    say("building OpenBao with Go, once (about 10 minutes) …");
    await run("go", ["build", "-o", target, "."], { cwd: named });
  }
  return target;
}

/**
 * Starts OpenBao with file storage and an audit file, and makes a P-256 key that the returned token's policy
 * may sign with, and nothing else. Returns undefined without OpenBao.
 */
export async function startOpenBao({
  directory,
  say,
}: Pick<PeerOptions, "directory" | "say">): Promise<(Peer & { token: string }) | undefined> {
  const command = await binary(say);
  if (command === undefined) return undefined;
  const [port, clusterPort] = (await freePorts(2)) as [number, number];
  const storage = join(directory, "openbao");
  mkdirSync(storage);
  const config = join(directory, "openbao.json");
  writeFileSync(
    config,
    JSON.stringify({
      storage: { file: { path: storage } },
      listener: {
        tcp: { address: `127.0.0.1:${port}`, cluster_address: `127.0.0.1:${clusterPort}`, tls_disable: true },
      },
      audit: [
        { file: { file: { description: "every request", options: { file_path: join(directory, "audit.log") } } } },
      ],
      api_addr: `http://127.0.0.1:${port}`,
      log_level: "error",
    }),
  );
  const child = await startChild({
    name: "openbao",
    command,
    args: ["server", `-config=${config}`],
    logFile: join(directory, "openbao.log"),
  });
  const peer = { url: `http://127.0.0.1:${port}`, child };
  await untilAnswers(peer, "/v1/sys/init");
  const api = `${peer.url}/v1`;
  const shares = { secret_shares: 1, secret_threshold: 1 };
  const { keys, root_token: root } = await sendJson<{ keys: string[]; root_token: string }>(
    "PUT",
    `${api}/sys/init`,
    shares,
  );
  await sendJson("PUT", `${api}/sys/unseal`, { key: keys[0] });
  await sendJson("POST", `${api}/sys/mounts/transit`, { type: "transit" }, root);
  await sendJson("POST", `${api}/transit/keys/account`, { type: "ecdsa-p256" }, root);
  const policy = 'path "transit/sign/account/*" { capabilities = ["update"] }';
  await sendJson("PUT", `${api}/sys/policies/acl/sign`, { policy }, root);
  const created = await sendJson<{ auth: { client_token: string } }>(
    "POST",
    `${api}/auth/token/create`,
    { policies: ["sign"] },
    root,
  );
  return { ...peer, token: created.auth.client_token };
}
