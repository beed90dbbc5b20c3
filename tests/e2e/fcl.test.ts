import * as fcl from "@onflow/fcl";
import { expect, it } from "vitest";
import { call, chain, signUpPerson } from "./person.ts";

/** What fcl asks a signing function to sign. */
interface Signable {
  message: string;
}

it("@onflow/fcl, with authorization functions that call the signing endpoints, gets a transaction sealed", async () => {
  const { client, address, deviceKey } = await signUpPerson();
  const token = client.credentials!.accessToken;
  await fcl.config({ "accessNode.api": chain.accessNode, "flow.network": "emulator", "fcl.limit": 999 });

  const signer =
    (addr: string, keyId: number, signature: (message: string) => Promise<string>) => (account: object) => ({
      ...account,
      tempId: `${addr}-${keyId}`,
      addr,
      keyId,
      signingFunction: async ({ message }: Signable) => ({
        addr: `0x${addr}`,
        keyId,
        signature: await signature(message),
      }),
    });
  const remote = (operation: string) => async (message: string) => {
    const answer = await call("POST", `/sign/v1/cadence/${operation}`, { token, body: { message } });
    expect(answer.body).toMatchObject({ signature: { signature: expect.any(String) } });
    return answer.body.signature.signature as string;
  };
  const device = signer(address, 1, async (message) =>
    Buffer.from(await deviceKey.sign(Buffer.from(message, "hex"))).toString("hex"),
  );
  const server = signer(address, 0, remote("transaction"));
  const paymaster = signer(chain.paymaster.replace("0x", ""), 0, remote("paymaster"));

  const id = await fcl.mutate({
    cadence:
      "transaction(text: String) { prepare(a: auth(SaveValue) &Account) { a.storage.save(text, to: /storage/fromFcl) } }",
    args: (arg: (value: string, type: unknown) => unknown, t: { String: unknown }) => [arg("written by fcl", t.String)],
    proposer: device,
    payer: paymaster,
    authorizations: [device, server],
    limit: 999,
  });
  const sealed = await fcl.tx(id).onceSealed();
  expect(sealed).toMatchObject({ statusCode: 0, errorMessage: "" });
});
