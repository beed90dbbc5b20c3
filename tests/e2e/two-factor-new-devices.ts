import { sendTransaction, type TwoFactorRequested } from "@countersign/client";
import { beforeAll, expect } from "vitest";
import {
  access,
  chainName,
  logIn,
  NOTHING,
  network,
  newPhone,
  type Person,
  type Phone,
  signUpPerson,
} from "../support/person.ts";
import { call } from "../support/raw-request.ts";

export const attributes = { name: "New phone", osName: "iOS", type: "mobile" } as const;

/** A phone with a pending 2FA request. */
export interface NewDevice extends Phone {
  asked: TwoFactorRequested;
}

export let owner: Person;
export let otherPerson: Person;
beforeAll(async () => {
  [owner, otherPerson] = await Promise.all([signUpPerson(), signUpPerson()]);
});

/** Requests the enrollment of a new phone for a person's account. */
export async function ask(of: Person, phone: Phone = newPhone()): Promise<NewDevice> {
  const login = await logIn(of.email);
  return { ...phone, asked: await phone.client.requestTwoFactor({ login, chainName, device: attributes }) };
}

/** Returns the code that the new phone shows. */
export const codeOf = ({ client }: NewDevice): string => client.matchingCode();
export const idOf = ({ asked }: NewDevice): string => asked.twoFactorAuth.id;
export const finish = ({ client, asked }: NewDevice) =>
  client.finishTwoFactor(asked.twoFactorAuth.id, asked.ephemeralAccessToken);
export const enroll = async (newDevice: NewDevice, by: Person) => {
  await by.client.approveTwoFactor(idOf(newDevice), { matchingCode: codeOf(newDevice) });
  return newDevice.client.waitForTwoFactor(newDevice.asked);
};
/** Tries again until the services have received that the operator lifted the chain watch's freeze. */
export async function approve(id: string, body: object, by = owner) {
  for (let round = 0; ; round++) {
    const token = by.client.credentials!.accessToken;
    const answer = await call("POST", `/device/v1/2fa/${id}/approve`, { token, body });
    if (answer.body?.error !== "AccountFrozen" || round === 50) return answer;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}
export const raw = (token: string | undefined, method: string, path: string, body?: unknown) =>
  call(method, path, { token, ...(body !== undefined && { body }) });

/** Expects that a device is enrolled: session, registration, key on chain, challenge, own transaction. */
export async function expectEnrolled(
  { client, deviceKey }: NewDevice,
  of: Person,
  transactionId: string,
): Promise<void> {
  const { publicKey } = deviceKey;
  const account = await client.me();
  expect(account.id).toBe(of.signedUp.account.id);
  expect(account.addresses.map(({ address }) => address)).toContain(`0x${of.address}`);
  expect(await client.devices()).toContainEqual(expect.objectContaining({ publicKey, ...attributes }));

  const key = (await client.keys()).find((entry) => entry.publicKey === publicKey);
  expect(key).toMatchObject({ type: "user-key", chainName, userKey: { device: { publicKey } } });
  const onChain = await access.accountKey(of.address, key!.keyIndex);
  expect(onChain).toMatchObject({ publicKey, weight: 1, hashAlgorithm: "SHA2_256", revoked: false });

  await client.signOut();
  const again = await client.signIn({ login: await logIn(of.email), chainName });
  expect(again).toMatchObject({ account: { id: account.id }, transaction: { id: transactionId } });
  const sent = await sendTransaction(client, { network, cadence: NOTHING });
  expect(sent.result.errorMessage).toBe("");
}
