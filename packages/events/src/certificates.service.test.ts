import type { TlsMaterial, Watched } from "@countersign/core";
import { makeAuthority, makeLeaf, readAuthority, tlsFiles } from "@countersign/local-stack/certificates.ts";
import { createLogger, loadTls } from "@countersign/runtime";
import { afterAll, beforeAll, expect, it } from "vitest";
import { linkNats } from "./nats.ts";
import { beginNats, type TestNats } from "./testing/nats-server.ts";

let nats: TestNats;
beforeAll(async () => {
  nats = await beginNats();
}, 120_000);
afterAll(() => nats?.end());

it("a link with changed certificates has another connection at once, and none that the server refuses", async () => {
  const listeners: ((tls: TlsMaterial) => void)[] = [];
  let material = nats.tlsOf("device");
  const tls: Watched<TlsMaterial> = {
    current: () => material,
    onChange: (listener) => {
      listeners.push(listener);
      return () => void listeners.splice(listeners.indexOf(listener), 1);
    },
    refresh: () => undefined,
  };
  const set = (changed: TlsMaterial) => {
    material = changed;
    for (const listener of [...listeners]) listener(changed);
  };
  const logger = createLogger({ name: "test", level: "silent" });
  const link = linkNats({ natsUrl: nats.url, tls, name: "device", logger });
  try {
    await expect.poll(() => link.current()).toBeDefined();
    const first = link.current()!;
    const missing: number[] = [];
    const watching = setInterval(() => link.current() ?? missing.push(Date.now()), 2);
    set(nats.tlsOf("device"));
    await expect.poll(() => link.current() !== first).toBe(true);
    const second = link.current()!;
    await second.flush();
    // The old one still serves those who use it.
    await first.flush();
    const files = {
      ...tlsFiles(nats.stateDir, "device"),
      cert: `${nats.stateDir}/x.pem`,
      key: `${nats.stateDir}/x.key`,
    };
    await makeAuthority(`${nats.stateDir}/y.pem`, `${nats.stateDir}/y.key`);
    await makeLeaf("device", files, await readAuthority(`${nats.stateDir}/y.pem`, `${nats.stateDir}/y.key`));
    set(loadTls(files));
    await new Promise((resolve) => setTimeout(resolve, 1_500));
    expect(link.current()).toBe(second);
    await second.flush();
    set(nats.tlsOf("device"));
    await expect.poll(() => link.current() !== second).toBe(true);
    clearInterval(watching);
    expect(missing).toEqual([]);
  } finally {
    await link.close();
  }
});
