import {
  CountersignClient,
  type DeviceRevocation,
  type Passkey,
  revokeDevice,
  SessionEndedError,
  sendTransaction,
  waitForTransaction,
} from "@countersign/client";
import { generateDeviceKey } from "@countersign/client/node";
import { cadenceAddress, encodeCadence, type FlowTransaction } from "@countersign/flow";
import { simulatedPasskey } from "@countersign/keys/testing";
import { createPhone } from "@countersign/testing";
import { describe, expect, it } from "vitest";
import {
  access,
  chainName,
  logIn,
  network,
  newEmail,
  type Person,
  type Phone,
  problemOf,
  secondPhone,
  signUpPerson,
  stack,
} from "../support/person.ts";
import { addedAgo, change, plain } from "./key-changes.ts";

const COUNT = `transaction {
    prepare(account: auth(LoadValue, SaveValue, IssueStorageCapabilityController, PublishCapability, UnpublishCapability) &Account) {
        let count = account.storage.load<Int>(from: /storage/count) ?? 0
        account.storage.save(count + 1, to: /storage/count)
        account.capabilities.unpublish(/public/count)
        account.capabilities.publish(account.capabilities.storage.issue<&Int>(/storage/count), at: /public/count)
    }
}`;
const READ_COUNT = `access(all) fun main(address: Address): Int {
    return *getAccount(address).capabilities.borrow<&Int>(/public/count)!
}`;
/** Returns the transaction under another id: the chain accepts the payer's signature (r, s) as (r, n − s). */
function twinOf(transaction: FlowTransaction): FlowTransaction {
  const order = 0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551n;
  const [payer] = transaction.envelopeSignatures;
  const [r, s] = [payer!.signature.slice(0, 64), BigInt(`0x${payer!.signature.slice(64)}`)];
  const signature = r + (order - s).toString(16).padStart(64, "0");
  return { ...transaction, envelopeSignatures: [{ ...payer!, signature }] };
}

/** Creates a passkey in memory, of the gateway's origin. */
function newPasskey(): Passkey {
  const { publicKey, assert } = simulatedPasskey();
  const said = { rpId: "localhost", client: { origin: stack.gateway } };
  return { publicKey: publicKey.publicKey, algorithm: "ES256", assert: async (challenge) => assert(challenge, said) };
}

const countOf = async ({ address }: { address: string }) =>
  Number(await access.executeScript(READ_COUNT, [encodeCadence(cadenceAddress(address))]));

describe("a client whose session was ended by another session", () => {
  it("drops its tokens, signs out without an error, and opens another session", async () => {
    const { client, login } = await signUpPerson();
    const [session] = await client.sessions();
    await client.endSession(session!.id);
    await expect(client.refresh()).rejects.toBeInstanceOf(SessionEndedError);
    expect(client.credentials).toBeUndefined();
    await client.signOut();
    await client.signIn({ login, chainName });
    expect((await client.me()).addresses).toHaveLength(2);
  });

  it("signs up another person with the tokens of the ended session still at hand", async () => {
    const { client, signedUp } = await signUpPerson();
    const [session] = await client.sessions();
    await client.endSession(session!.id);
    const other = await client.signUp({ login: await logIn(newEmail()), chainName });
    expect(other.account.id).not.toBe(signedUp.account.id);
  });
});

describe("transactions that one account sends concurrently", () => {
  it("are all sealed: of its own, and of the service's templates", async () => {
    const person = await signUpPerson();
    const { client } = person;
    const newKeys = [generateDeviceKey(), generateDeviceKey()];
    const sent = await Promise.all([
      sendTransaction(client, { network, cadence: COUNT }),
      sendTransaction(client, { network, cadence: COUNT }),
      ...newKeys.map((newKey) => change(person, { template: "add-user-key", newKey: plain(newKey) })),
    ]);
    expect(sent.map(({ result }) => result.errorMessage)).toEqual(["", "", "", ""]);
    expect(new Set(sent.map(({ id }) => id)).size).toBe(4);
    expect(await countOf(person)).toBe(2);
    const keys = (await access.accountKeys(person.address)).map(({ publicKey }) => publicKey);
    expect(keys).toEqual(expect.arrayContaining(newKeys.map(({ publicKey }) => publicKey)));
  });

  it("are sealed from two devices, which share the server key's sequence number", async () => {
    const one = await signUpPerson();
    const two = await secondPhone(one);
    const add = (phone: Phone) => change(phone, { template: "add-user-key", newKey: plain(generateDeviceKey()) });
    const sent = await Promise.all([add(one), add(two)]);
    expect(sent.map(({ result }) => result.errorMessage)).toEqual(["", ""]);
  });

  it("run once, when somebody else used the number, and when the same transaction runs under its other id", async () => {
    const person = await signUpPerson();
    const { deviceKey, client } = person;
    // In another process, which shares no locks with this one.
    const locks = { request: (_name: string, _options: object, work: () => Promise<unknown>) => work() };
    const { client: otherPage } = createPhone(stack, { deviceKey, credentials: client.credentials!, locks });
    const overtaken = {
      ...access,
      submit: async (transaction: FlowTransaction) => {
        if (overtaken.left-- > 0) {
          // Another page of the same device is faster.
          await sendTransaction(otherPage, { network, cadence: COUNT });
        }
        return access.submit(transaction);
      },
      left: 1,
    };
    await sendTransaction(person.client, { network, cadence: COUNT, accessApi: overtaken });
    expect(await countOf(person)).toBe(2);

    let ranAs = "";
    const twins = {
      ...access,
      submit: async (transaction: FlowTransaction) => {
        ranAs = await access.submit(twinOf(transaction));
        await access.waitForSeal(ranAs, { signal: AbortSignal.timeout(20_000) });
        return access.submit(transaction);
      },
    };
    const { id } = await sendTransaction(person.client, { network, cadence: COUNT, accessApi: twins });
    expect(id).toBe(ranAs);
    expect(await countOf(person)).toBe(3);
  });
});

describe("a transaction's id", () => {
  it("is known before it is submitted, so that an abort loses nothing", async () => {
    const person = await signUpPerson();
    const abort = new AbortController();
    const accessApi = {
      ...access,
      submit: async (transaction: FlowTransaction) => {
        await access.submit(transaction);
        abort.abort(new Error("the app was closed"));
        abort.signal.throwIfAborted();
        return "";
      },
    };
    let known = "";
    const sending = sendTransaction(person.client, {
      network,
      cadence: COUNT,
      accessApi,
      signal: abort.signal,
      onSubmitted: (id) => {
        known = id;
      },
    });
    await expect(sending).rejects.toThrow("the app was closed");
    expect(await waitForTransaction(known, { network })).toMatchObject({ id: known, result: { errorMessage: "" } });
    expect(await countOf(person)).toBe(1);
  });
});

describe("revoking a device", () => {
  const isOut = async (person: Person, device: Phone) => {
    const { publicKey } = device.deviceKey;
    const onChain = (await access.accountKeys(person.address)).find((key) => key.publicKey === publicKey);
    expect(onChain?.revoked).toBe(true);
    const listed = (await person.client.keys({ includeRevoked: true })).find((key) => key.publicKey === publicKey);
    expect(listed).toMatchObject({ revokedAt: expect.stringMatching(/Z$/), userKey: { devicePublicKey: publicKey } });
    expect((await person.client.devices()).map((each) => each.publicKey)).toEqual([person.deviceKey.publicKey]);
    const login = await logIn(person.email);
    expect(await problemOf(device.client.signIn({ login, chainName }))).toMatchObject({ error: "PleaseRegisterKey" });
  };

  it("removes it and revokes its key in one call, which may be repeated", async () => {
    const person = await signUpPerson();
    const lost = await secondPhone(person);
    const states: string[] = [];
    const options = {
      networks: [network],
      onProgress: ({ keys }: DeviceRevocation) => void states.push(keys.map(({ state }) => state).join()),
    };
    const [device] = (await person.client.devices()).filter((each) => each.publicKey === lost.deviceKey.publicKey);
    const revocation = await revokeDevice(person.client, device!, options);
    expect(revocation).toMatchObject({ removed: true, keys: [{ chainName, state: "revoked" }], done: true });
    expect(states).toEqual(["open", "pending", "revoked"]);
    await isOut(person, lost);
    expect(await revokeDevice(person.client, lost.deviceKey.publicKey, options)).toMatchObject({
      done: true,
      keys: [{ transactionId: "" }],
    });
  });

  it("continues after a crash between the two steps", async () => {
    const person = await signUpPerson();
    const lost = await secondPhone(person);
    await person.client.removeDevice(lost.deviceKey.publicKey);
    const { publicKey } = lost.deviceKey;
    const revocation = await revokeDevice(person.client, publicKey, { networks: [network] });
    expect(revocation).toMatchObject({ done: true });
    await isOut(person, lost);
  });

  it("waits while the device is new on the account, and says until when", async () => {
    const person = await signUpPerson();
    const young = await secondPhone(person);
    await addedAgo(person, "0");
    const { publicKey } = person.deviceKey;
    const revoke = () => revokeDevice(young.client, publicKey, { networks: [network] });
    expect(await revoke()).toMatchObject({
      removed: false,
      refusal: { error: "DeviceTooYoung" },
      keys: [
        { state: "time-locked", availableAt: expect.stringMatching(/Z$/), timeLockId: expect.stringMatching(/-/) },
      ],
      done: false,
    });
    expect((await person.client.me()).id).toBe(person.signedUp.account.id);

    // With the key revoked, the device is off the account as well.
    await addedAgo(person, "1 day");
    expect(await revoke()).toMatchObject({ keys: [{ state: "revoked" }] });
    await expect.poll(async () => (await revoke()).done, { timeout: 20_000, interval: 500 }).toBe(true);
  });

  it("takes a passkey off, and is done by one", async () => {
    const person = await signUpPerson();
    const passkey = newPasskey();
    const client = new CountersignClient({ baseUrl: stack.gateway, deviceKey: passkey });
    const asked = await client.requestTwoFactor({ login: await logIn(person.email), chainName });
    await person.client.approveTwoFactor(asked.twoFactorAuth.id, { matchingCode: client.matchingCode() });
    await client.waitForTwoFactor(asked, { signal: AbortSignal.timeout(30_000) });
    const third = await secondPhone(person);
    await addedAgo(person, "1 day");
    const ofThird = await revokeDevice(client, third.deviceKey.publicKey, { networks: [network] });
    expect(ofThird).toMatchObject({ done: true });
    const ofPasskey = await revokeDevice(person.client, passkey.publicKey, { networks: [network] });
    expect(ofPasskey).toMatchObject({ done: true });
    expect((await access.accountKeys(person.address)).map(({ revoked }) => revoked)).toEqual([
      false,
      false,
      true,
      true,
    ]);
  });
});
