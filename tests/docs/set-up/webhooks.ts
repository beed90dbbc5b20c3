import { once } from "node:events";
import { connect, createServer } from "node:net";
import { resolve } from "node:path";
import "@countersign/local-stack/testing/provided.ts";
import { inject, vi } from "vitest";
import { signUpPerson, stack } from "../../support/person.ts";

// By name, because its types are Node's and the page is compiled with a browser's.
const helper: string = "../../support/webhook-receiver.ts";
const { newSecret, writeEndpoints } = await import(helper);

export const secret: string = newSecret();
const probe = createServer().listen(0, "127.0.0.1");
await once(probe, "listening");
export const { port } = probe.address() as { port: number };
await new Promise((closed) => void probe.close(closed));

const stateDir = resolve(inject("stackDir"), stack.stateDir);
writeEndpoints(stateDir, [{ id: "docs", appId: "demo", url: `http://127.0.0.1:${port}/`, secrets: [secret] }]);

const types: string[] = [];
export async function handle({ type }: { type: string }): Promise<void> {
  types.push(type);
}
/**
 * Once the program's server listens: it survives a sender that goes away, and the events of a person who
 * signs up arrive, verified.
 */
export async function afterwards(): Promise<void> {
  const sender = connect(port, "127.0.0.1");
  sender.write("POST / HTTP/1.1\r\nHost: docs\r\nExpect: 100-continue\r\nContent-Length: 9\r\n\r\n");
  await once(sender, "data");
  sender.destroy();
  await vi.waitFor(
    async () => {
      const { signedUp } = await signUpPerson();
      if (signedUp.account.id === "") throw new Error("not signed up");
      await vi.waitFor(() => types.includes("key.added") || Promise.reject(new Error(types.join())), 5_000);
    },
    { timeout: 60_000 },
  );
  writeEndpoints(stateDir, []);
}
