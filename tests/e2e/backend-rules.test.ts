import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { InformationService } from "@countersign/proto/signer/v1/information.ts";
import type { SignAnswer, SignRequest } from "@countersign/proto/signer/v1/signing.ts";
import { createRpcClient } from "@countersign/rpc";
import { loadTls } from "@countersign/runtime";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { application, chainName, type Person, signUpPerson, stack } from "../support/person.ts";
import { type ExtraSigner, harmless, startExtraSigner } from "./extra-signer.ts";

const directory = mkdtempSync(join(tmpdir(), "countersign-peers-"));
afterAll(() => rmSync(directory, { recursive: true, force: true }));
const table = JSON.parse(readFileSync("deploy/peers.json", "utf8"));

/** Starts a signer with this entry for the demonstration's backend. */
async function knowing(
  backend: object,
  change: (rpcs: Record<string, { callers: string[] }>) => void = () => undefined,
) {
  const peers = { ...structuredClone(table), backends: { "demo-backend": backend } };
  change(peers.rpcs);
  const file = join(directory, "peers.json");
  writeFileSync(file, JSON.stringify(peers));
  return startExtraSigner({ CS_PEERS_FILE: file });
}

let ada: Person;
let bob: Person;
beforeAll(async () => {
  [ada, bob] = await Promise.all([signUpPerson(), signUpPerson()]);
}, 60_000);
const tokenOf = ({ client }: Person) => client.credentials!.accessToken;
const reasonOf = (work: Promise<unknown>) =>
  work.then(
    () => "signed",
    ({ reason, metadata }) => metadata?.reason ?? reason,
  );
const sign = async ({ signing }: ExtraSigner, person: Person) =>
  reasonOf(signing.signTransaction({ message: await harmless(person), chainName }, { token: tokenOf(person) }));

/** Returns all answers of one stream, by the requests' ids. */
async function stream({ signing }: ExtraSigner, requests: SignRequest[]): Promise<Map<number, SignAnswer>> {
  const found = new Map<number, SignAnswer>();
  let enough = () => {};
  const all = new Promise<void>((resolve) => {
    enough = resolve;
  });
  async function* messages() {
    yield { requests };
    await all;
  }
  for await (const { answers } of signing.signStream(messages())) {
    for (const answer of answers) found.set(answer.id, answer);
    if (found.size === requests.length) enough();
  }
  return found;
}
const request = (id: number, accessToken: string, message: Buffer): SignRequest => ({
  id,
  accessToken,
  requestId: "",
  traceparent: "",
  transaction: { message, chainName },
});

describe("a backend, known by its certificate", () => {
  it("signs for users of its own apps, of these for its own accounts, and so often", { timeout: 120_000 }, async () => {
    const foreign = await knowing({ apps: ["somebody-elses"] });
    expect(await sign(foreign, ada)).toBe("NotYourApp");
    await foreign.stop();

    const { appId } = application;
    const limited = await knowing({ apps: [appId], accounts: [ada.signedUp.account.id], signaturesPerMinute: 3 });
    expect(await sign(limited, bob)).toBe("NotYourAccount");
    const outcomes = [];
    for (let i = 0; i < 6; i += 1) outcomes.push(await sign(limited, ada));
    // A minute may have begun in between.
    expect(outcomes.slice(0, 3)).toEqual(["signed", "signed", "signed"]);
    expect(outcomes).toContain("RateLimited");
    await limited.stop();
  });

  it("has the operations of its rows, and no others", { timeout: 120_000 }, async () => {
    const signer = await knowing({ apps: [application.appId] }, (rpcs) => {
      const row = rpcs["signer.v1.Signing/SignPaymaster"]!;
      row.callers = row.callers.filter((caller) => caller !== "demo-backend");
    });
    expect(await sign(signer, ada)).toBe("signed");
    const message = await harmless(ada);
    const paid = signer.signing.signPaymaster({ message, chainName }, { token: tokenOf(ada) });
    expect(await reasonOf(paid)).toBe("CallerNotAllowed");
    expect(await reasonOf(signer.signing.signTransaction({ message, chainName }))).not.toBe("signed");
    const { transaction, ...asked } = request(2, tokenOf(ada), message);
    const answers = await stream(signer, [request(1, tokenOf(ada), message), { ...asked, paymaster: transaction }]);
    expect(answers.get(1)?.signed).toBeDefined();
    expect(answers.get(2)?.refusal).toMatchObject({ reason: "CallerNotAllowed" });
    await signer.stop();
  });

  it("has messages explained by the running signer, without a signature", async () => {
    const { ca, clients } = stack.tls;
    const information = createRpcClient(InformationService, {
      address: stack.processes.signer!.grpc!,
      tls: loadTls({ ca, ...clients["demo-backend"]! }),
      serverName: "signer",
      deadlineMs: 10_000,
    });
    const fine = await information.explain({ message: await harmless(ada), chainName });
    expect(fine).toMatchObject({ kind: "payload", refusalReason: "" });
    expect(fine.detail).toContain("custom script");
    const greedy = await information.explain({ message: await harmless(ada, 10_000n), chainName });
    expect(greedy).toMatchObject({ refusalReason: "GasLimit" });
    expect(fine).not.toHaveProperty("signature");
    information.close();
  });

  it("asks for many on one stream, each with its own user's token", { timeout: 120_000 }, async () => {
    const signer = await knowing({ apps: [application.appId] });
    const messages = await Promise.all([harmless(ada), harmless(bob)]);
    const answers = await stream(signer, [
      request(1, tokenOf(ada), messages[0]!),
      request(2, tokenOf(bob), messages[1]!),
      request(3, tokenOf(bob), messages[0]!),
      request(4, "no token", messages[0]!),
    ]);
    expect(answers.get(1)?.signed?.audit?.recordHash).toHaveLength(32);
    expect(answers.get(2)?.signed?.signature?.address.toString("hex")).toBe(bob.address);
    expect(answers.get(3)?.refusal).toMatchObject({ reason: "SigningRefused", rule: "NotYourAccount" });
    expect(answers.get(4)?.refusal).toMatchObject({ reason: "InvalidAccessToken" });
    await signer.stop();
  });
});
