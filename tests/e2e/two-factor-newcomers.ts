import { sendTransaction, type TwoFactorRequested } from "@countersign/client";
import { createAccessApi } from "@countersign/flow";
import { beforeAll, expect } from "vitest";
import { call, chain, chainName, logIn, network, newPhone, type Person, type Phone, signUpPerson } from "./person.ts";

export const access = createAccessApi({ baseUrl: chain.accessNode });
export const NOTHING = "transaction { prepare(a: &Account) {} }";
export const attributes = { name: "New phone", osName: "iOS", type: "mobile" } as const;

/** A phone that waits to be let in. */
export interface Newcomer extends Phone {
  asked: TwoFactorRequested;
}

export let owner: Person;
export let stranger: Person;
beforeAll(async () => {
  [owner, stranger] = await Promise.all([signUpPerson(), signUpPerson()]);
});

export async function ask(of: Person, phone: Phone = newPhone()): Promise<Newcomer> {
  const login = await logIn(of.email);
  return { ...phone, asked: await phone.client.requestTwoFactor({ login, chainName, device: attributes }) };
}

/** The code that the new phone shows. */
export const codeOf = ({ client, asked }: Newcomer): Promise<string> => client.matchingCode(asked);
export const idOf = ({ asked }: Newcomer): string => asked.twoFactorAuth.id;
export const finish = ({ client, asked }: Newcomer) =>
  client.finishTwoFactor(asked.twoFactorAuth.id, asked.ephemeralAccessToken);
export const letIn = async (newcomer: Newcomer, by: Person) => {
  await by.client.approveTwoFactor(idOf(newcomer), { matchingCode: await codeOf(newcomer) });
  return newcomer.client.waitForTwoFactor(newcomer.asked);
};
/** Tries anew while the services have not heard yet that the operator lifted the chain watch's freeze. */
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

/** That a device is let in for good: session, registration, chain, challenge, and a transaction of its own. */
export async function expectIn({ client, deviceKey }: Newcomer, of: Person, transactionId: string): Promise<void> {
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
