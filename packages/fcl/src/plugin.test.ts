import type { CountersignClient } from "@countersign/client";
import { generateDeviceKey } from "@countersign/client/node";
import type { AccessApi } from "@countersign/flow";
import { expect, it, vi } from "vitest";
import { type FclPlugin, useCountersign } from "./plugin.ts";

const network = { chainName: "flow-emulator", accessNode: "http://node.test", paymaster: "0x179b6b1cb6755e31" };

/** Makes a signed-in client of an account; FCL calls its services by `exec`. */
function signedIn(address: string) {
  const deviceKey = generateDeviceKey();
  const client = {
    deviceKey,
    me: async () => ({ addresses: [{ chainName: network.chainName, chainType: "cadence", address }] }),
    signUserMessage: vi.fn(async () => []),
    signTransaction: vi.fn(async () => ({ addr: address, keyId: 0, signature: "aa".repeat(64) })),
  };
  const accessApi = {
    accountKeys: async () => [
      { index: 0, weight: 999, hashAlgorithm: "SHA3_256", revoked: false, publicKey: "" },
      { index: 1, weight: 1, hashAlgorithm: "SHA2_256", revoked: false, publicKey: deviceKey.publicKey },
    ],
  } as unknown as AccessApi;
  return { client, options: { client: client as unknown as CountersignClient, network, accessApi } };
}

interface Services {
  services: { type: string }[];
}
interface PreAuthz {
  authorization: { data: { role: string } }[];
}

it("serves no FCL user of another account than that of the client", async () => {
  const [ada, bob] = [signedIn("0x01cf0e2f2f715450"), signedIn("0xe03daebed8ca0615")];
  let plugin: FclPlugin | undefined;
  const fcl = { pluginRegistry: { add: (added: FclPlugin) => (plugin = added) }, authenticate: async () => undefined };
  const service = useCountersign(fcl, ada.options) as { type: string };
  const exec = (called: { type: string }, body = {}) => plugin!.serviceStrategy.exec({ service: called, body });
  const { services } = (await exec(service)) as Services;
  const named = (type: string) => services.find((each) => each.type === type)!;
  const { authorization } = (await exec(named("pre-authz"))) as PreAuthz;
  const server = authorization.find(({ data }) => data.role === "server") as unknown as { type: string };
  const message = Buffer.from("I agree").toString("hex");
  expect(await exec(named("user-signature"), { message })).toEqual([]);
  expect(await exec(server, { message })).toMatchObject({ addr: "0x01cf0e2f2f715450" });

  // Bob has signed in on the same page; FCL still has Ada as its user.
  useCountersign(fcl, bob.options);
  await expect(exec(named("pre-authz"))).rejects.toThrow("another account");
  await expect(exec(server, { message })).rejects.toThrow("another account");
  await expect(exec(named("user-signature"), { message })).rejects.toThrow("another account");
  expect(bob.client.signTransaction).not.toHaveBeenCalled();
  expect(bob.client.signUserMessage).not.toHaveBeenCalled();
});
