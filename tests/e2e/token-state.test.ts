import { readFileSync } from "node:fs";
import { connect, createServer, type Socket } from "node:net";
import { afterAll, beforeAll, expect, it } from "vitest";
import { chainName, type Person, signUpPerson, stack } from "../support/person.ts";
import { type ExtraSigner, harmless, startExtraSigner } from "./extra-signer.ts";

/** The signer reads ended sessions and frozen accounts from auth, here through a proxy that can be cut. */
const sockets = new Set<Socket>();
let cut = false;
const auth = /(?<=^|\0)CS_AUTH_ADDRESS=([^\0]+)/.exec(
  readFileSync(`/proc/${stack.processes.signer!.pid}/environ`, "utf8"),
)![1]!;
const [host = "", port = ""] = auth.split(/:(?=\d+$)/);
const pipe = createServer((near) => {
  if (cut) return void near.destroy();
  const far = connect(Number(port), host);
  for (const socket of [near, far]) {
    sockets.add(socket);
    socket.on("close", () => {
      sockets.delete(socket);
      for (const each of [near, far]) each.destroy();
    });
    socket.on("error", () => undefined);
  }
  near.pipe(far).pipe(near);
});

let person: Person;
let signer: ExtraSigner;
beforeAll(async () => {
  await new Promise<void>((resolve) => pipe.listen(0, "127.0.0.1", resolve));
  const { port: own } = pipe.address() as { port: number };
  person = await signUpPerson();
  signer = await startExtraSigner({ CS_AUTH_ADDRESS: `127.0.0.1:${own}` });
}, 120_000);
afterAll(async () => {
  await signer?.stop();
  for (const socket of sockets) socket.destroy();
  pipe.close();
});

const outcome = async () =>
  signer.signing
    .signTransaction({ message: await harmless(person), chainName }, { token: person.client.credentials!.accessToken })
    .then(
      () => "signed",
      ({ reason }) => reason as string,
    );

it("a signer that has received nothing from auth for ten seconds signs nothing, until it receives again", {
  timeout: 120_000,
}, async () => {
  expect(await outcome()).toBe("signed");
  cut = true;
  for (const socket of sockets) socket.destroy();
  const began = performance.now();
  await expect.poll(outcome, { timeout: 30_000, interval: 200 }).toBe("SignerNotCurrent");
  expect(performance.now() - began).toBeGreaterThan(7_000);
  cut = false;
  await expect.poll(outcome, { timeout: 60_000, interval: 200 }).toBe("signed");
});
