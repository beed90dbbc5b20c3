import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "@countersign/build/paths.ts";
import { run } from "@countersign/build/run.ts";
import type { AccountEvent, CountersignClient } from "@countersign/client";
import { TEST_PHONE_APP } from "@countersign/local-stack/testing/test-app.ts";
import { beforeAll, expect, it, vi } from "vitest";
import { pollOptions, stack } from "../support/person.ts";
import { blocksOf } from "./blocks.ts";
import { inEmptyFolder } from "./empty-folder.ts";
import { firstPhone, hold, newPhone, person, phone } from "./set-up/phone-modules.ts";

/** The functions of the page. */
interface App {
  openClient(): Promise<CountersignClient>;
  openAccount(client: CountersignClient, show: (code: string) => void): Promise<void>;
  store(client: CountersignClient, text: string): Promise<string | undefined>;
  followEvents(client: CountersignClient, show: (event: AccountEvent) => void): () => void;
  registerForPush(client: CountersignClient): Promise<boolean>;
  attestKey(challenge: Uint8Array, attest: (alias: string) => Promise<string>): Promise<unknown>;
  withoutExpo: object;
}

/** The most that expo-secure-store promises to keep as one value. */
const MAX_KEPT_BYTES = 2048;

let app: App;
beforeAll(async () => {
  const folder = join(root, ".local/docs-phone");
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const blocks = blocksOf("react-native").filter(({ language }) => language === "ts");
  const program = blocks.map(({ at, text }) => `// ${at}\n${text}`).join("\n");
  const here = program
    .replaceAll("http://localhost:8080", stack.gateway)
    .replaceAll("http://localhost:9000", stack.identityProvider.issuer);
  writeFileSync(join(folder, "app.ts"), here);
  app = (await import(join(folder, "app.ts"))) as App;
});

it("the app of docs/react-native.md signs up, has a transaction sealed, and follows events", async () => {
  const client = await app.openClient();
  person.closesBrowser = true;
  await app.openAccount(client, () => {});
  expect(client.session.state).toBe("signed-out");
  person.closesBrowser = false;
  await app.openAccount(client, () => {});
  expect(client.session.state).toBe("signed-in");

  const events: string[] = [];
  const stop = app.followEvents(client, ({ type }) => events.push(type));
  person.refusal = "USER_CANCELED";
  expect(await app.store(client, "refused")).toBeUndefined();
  person.refusal = "";
  expect(await app.store(client, "hello")).toMatch(/^[0-9a-f]{64}$/);

  await vi.waitFor(async () => {
    expect(await app.registerForPush(client)).toBe(true);
    expect(events).toContain("device.updated");
  }, pollOptions);
  phone.state = "background";
  for (const listener of phone.listeners) listener();
  stop();
  phone.state = "active";
  expect(phone.listeners.size).toBe(0);

  const attested = await app.attestKey(new Uint8Array(16), async (alias) => `statement of ${alias}`);
  expect(attested).toBe("statement of countersign.device");
  expect(app.withoutExpo).toMatchObject({ eventTransport: expect.any(Function) });
  for (const kept of phone.kept) expect(kept.length).toBeLessThanOrEqual(MAX_KEPT_BYTES);

  // Later: the same key, after a sign-out and with the app started again.
  await client.signOut();
  const again = await app.openClient();
  expect(again.deviceKey.publicKey).toBe(client.deviceKey.publicKey);
  await app.openAccount(again, () => {});
  expect((await (await app.openClient()).me()).id).toBe((await again.me()).id);
  expect((await firstPhone.hardware.getAllKeys()).keys).toHaveLength(1);

  // The person's second phone is enrolled with the matching code, typed on the first.
  hold(newPhone());
  const second = await app.openClient();
  let approved: Promise<void> | undefined;
  await app.openAccount(second, (matchingCode) => {
    hold(firstPhone);
    approved = again.pendingTwoFactor().then(([asked]) => again.approveTwoFactor(asked!.id, { matchingCode }));
  });
  await approved;
  expect((await second.me()).id).toBe((await again.me()).id);
});

it("the test set-up leads from an empty folder to a sealed transaction, without a phone", {
  timeout: 600_000,
}, async () => {
  await inEmptyFolder("react-native", `npm start -- --app ${TEST_PHONE_APP}`, async (folder) => {
    const [program] = blocksOf("react-native").filter(({ language }) => language === "typescript");
    writeFileSync(join(folder, "app.test.ts"), program!.text);
    const printed = await run(process.execPath, ["app.test.ts"], { cwd: folder });
    expect(printed).toMatch(/^cadence 0x[0-9a-f]{16}\nevm 0x[0-9a-f]{40}\nSealed [0-9a-f]{64}\n$/);
  });
});
