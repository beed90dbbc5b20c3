import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { request } from "node:https";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TlsMaterial, Watched } from "@countersign/core";
import { makeAuthority, makeLeaf, readAuthority } from "@countersign/local-stack/certificates.ts";
import { afterAll, beforeAll, expect, it } from "vitest";
import { startJwksServer } from "./jwks.ts";

const directory = mkdtempSync(join(tmpdir(), "countersign-jwks-"));
const path = (name: string) => join(directory, name);
afterAll(() => rmSync(directory, { recursive: true }));

/** Returns a certificate of an authority, which trusts these authorities. */
async function material(name: string, authority: string, ...trusted: string[]): Promise<TlsMaterial> {
  const files = { cert: path(`${name}.pem`), key: path(`${name}.key`) };
  await makeLeaf(name, files, await readAuthority(path(`${authority}.pem`), path(`${authority}.key`)));
  const ca = Buffer.concat(trusted.map((each) => readFileSync(path(`${each}.pem`))));
  return { ca, cert: readFileSync(files.cert), key: readFileSync(files.key) };
}

beforeAll(async () => {
  for (const name of ["old", "new"]) await makeAuthority(path(`${name}.pem`), path(`${name}.key`));
});

it("uses changed certificates from the next request on, and trusts a removed CA no longer", async () => {
  const probe = createServer().listen(0, "127.0.0.1");
  await new Promise((resolve) => void probe.once("listening", resolve));
  const { port } = probe.address() as { port: number };
  await new Promise((resolve) => void probe.close(resolve));

  let current = await material("auth", "old", "old");
  let listener: (tls: TlsMaterial) => void = () => undefined;
  const tls: Watched<TlsMaterial> = {
    current: () => current,
    onChange: (added) => {
      listener = added;
      return () => undefined;
    },
    refresh: () => undefined,
  };
  const set = (changed: TlsMaterial) => {
    current = changed;
    listener(changed);
  };
  const server = await startJwksServer({
    listen: `127.0.0.1:${port}`,
    tls,
    published: { tokens: async () => [{ kid: "a" }], identity: async () => [] },
  });
  const get = (client: TlsMaterial) =>
    new Promise<string>((resolve, reject) => {
      const options = { ...client, port, host: "127.0.0.1", servername: "auth.countersign.internal", agent: false };
      const sent = request({ ...options, path: "/.well-known/jwks.json" }, (response) => {
        response.on("error", reject);
        response.resume();
        response.on("end", () => resolve(`${response.statusCode} ${response.headers.connection}`));
      });
      sent.on("error", (error: NodeJS.ErrnoException) => reject(new Error(error.code)));
      sent.end();
    });
  try {
    const gateway = await material("gateway", "old", "old", "new");
    expect(await get(gateway)).toBe("200 close");
    set(await material("auth", "new", "old", "new"));
    expect(await get(gateway)).toBe("200 close");
    expect(await get(await material("device", "new", "new"))).toBe("403 close");
    set(await material("auth", "new", "new"));
    await expect(get(gateway)).rejects.toThrow();
    expect(await get(await material("gateway", "new", "new"))).toBe("200 close");
  } finally {
    await server.close();
  }
});
