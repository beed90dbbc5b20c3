import { beforeAll, describe, expect, it } from "vitest";
import { chain, chainName, newPhone, type Person, signUpPerson, stack } from "../support/person.ts";
import { decodePayload, PlainClient, PlainProblem, type PlainTemplate } from "./plain-client.ts";

const clientOf = ({ client, deviceKey }: Person) =>
  new PlainClient({
    gateway: stack.gateway,
    accessToken: client.credentials!.accessToken,
    publicKey: deviceKey.publicKey,
    sign: (message) => deviceKey.sign(message),
  });
const newKey = () => newPhone().deviceKey.publicKey;

/** Sends what `make` makes; where the signer wants a time lock first, once more after it. */
async function run(client: PlainClient, make: () => Promise<string>): Promise<void> {
  for (;;) {
    try {
      const { error } = await client.send(await make());
      expect(error).toBe("");
      return;
    } catch (problem) {
      if (!(problem instanceof PlainProblem) || problem.body.error !== "TimeLockRequired") throw problem;
      const waitMs = Date.parse(problem.body.availableAt!) - Date.now();
      await new Promise((resolve) => setTimeout(resolve, Math.max(0, waitMs) + 200));
    }
  }
}

/** Returns the account's active keys by weight and hash, as the chain has them. */
const activeKeys = async (client: PlainClient) =>
  (await client.keys()).filter(({ revoked }) => !revoked).map((key) => key.public_key.replace(/^0x/, ""));

describe("a client that imports nothing of this project", { timeout: 120_000 }, () => {
  let [ada, bob]: Person[] = [];
  let [a, b]: PlainClient[] = [];
  let templates: Map<string, PlainTemplate>;
  const built = (client: PlainClient, name: string, values: Record<string, string | boolean>) =>
    run(client, () => client.build(templates.get(name)!, values));
  const prepared = (client: PlainClient, name: string, more: object = {}) =>
    run(client, () => client.prepared(name, more));

  beforeAll(async () => {
    [ada, bob] = await Promise.all([signUpPerson(), signUpPerson()]);
    [a, b] = [clientOf(ada), clientOf(bob)];
    templates = new Map((await a.templates()).map((template) => [template.name, template]));
  });

  it("learns the chain from the API", async () => {
    expect(await a!.network()).toEqual({
      chainName,
      chainType: "cadence",
      chainId: 646,
      accessNode: chain.accessNode,
      paymaster: chain.paymaster,
      explorerUrl: `${chain.accessNode}/v1/transaction_results/{id}`,
    });
  });

  it("adds, replaces and revokes a recovery key and a user key by the served templates", async () => {
    const serverKey = (await a!.serverKey()).public_key.replace(/^0x/, "");
    const [first, second, user] = [newKey(), newKey(), newKey()];
    const before = await activeKeys(a!);
    await built(a!, "add-recovery-key", { serverKey, recoveryKey: first, isSecp256k1: false });
    await built(a!, "replace-recovery-key", { serverKey, oldKey: first, newKey: second, isSecp256k1: false });
    await built(a!, "add-user-key", { userKey: user, isSecp256k1: false });
    expect(await activeKeys(a!)).toEqual([...before, second, user]);
    await built(a!, "revoke-recovery-key", { serverKey, recoveryKey: second });
    await built(a!, "revoke-user-key", { userKey: user });
    expect(await activeKeys(a!)).toEqual(before);
  });

  it("does the same with messages that the service has prepared", async () => {
    const [first, second, user] = [newKey(), newKey(), newKey()];
    const before = await activeKeys(b!);
    await prepared(b!, "add-recovery-key", { publicKey: first });
    await prepared(b!, "replace-recovery-key", { publicKey: second });
    await built(b!, "add-user-key", { userKey: user, isSecp256k1: false });
    expect(await activeKeys(b!)).toEqual([...before, second, user]);
    await prepared(b!, "revoke-recovery-key");
    await prepared(b!, "revoke-user-key", { publicKey: user });
    expect(await activeKeys(b!)).toEqual(before);
  });

  it("links a parent both ways, one side built and the other prepared", async () => {
    const [child, parent] = [`0x${ada!.address}`, `0x${bob!.address}`];
    await built(a!, "publish-parent-link", { parent });
    await prepared(b!, "claim-parent-link", { address: child });
    const { account } = await a!.request("POST", "/account/v1/parent");
    expect(account.parent).toMatchObject([{ address: parent }]);
    await prepared(a!, "remove-parent-link", { address: parent });

    await prepared(b!, "publish-parent-link", { address: child });
    await built(a!, "claim-parent-link", { child: parent });
    await built(b!, "remove-parent-link", { parent: child });
  });

  it("can check a prepared message against the served template before it signs", async () => {
    const recoveryKey = newKey();
    const payload = decodePayload(await a!.prepared("add-recovery-key", { publicKey: recoveryKey }));
    const template = templates.get("add-recovery-key")!;
    const server = await a!.serverKey();
    expect(payload).toMatchObject({
      script: template.script,
      arguments: [
        JSON.stringify({ type: "String", value: server.public_key.replace(/^0x/, "") }),
        JSON.stringify({ type: "String", value: recoveryKey }),
        JSON.stringify({ type: "Bool", value: false }),
      ],
      gasLimit: template.gasLimit,
      proposer: { address: ada!.address, keyId: Number(server.index) },
      payer: chain.paymaster.replace(/^0x/, ""),
      authorizers: [ada!.address],
    });
  });

  it("has every template that the network can have, and the rotation is the service's own to start", async () => {
    expect([...templates.keys()]).toEqual([
      "add-user-key",
      "add-recovery-key",
      "replace-recovery-key",
      "revoke-recovery-key",
      "revoke-user-key",
      "rotate-server-key",
      "publish-parent-link",
      "claim-parent-link",
      "remove-parent-link",
    ]);
    const oldKey = (await a!.serverKey()).public_key.replace(/^0x/, "");
    const message = await a!.build(templates.get("rotate-server-key")!, { oldKey, newKey: newKey() });
    await expect(a!.send(message)).rejects.toMatchObject({
      body: { error: "SigningRefused", reason: "BadTemplateArguments" },
    });
  });
});
