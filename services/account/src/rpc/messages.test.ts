import { unchanging } from "@countersign/core";
import type { HybridCustodyNetwork } from "@countersign/flow";
import type { MessagesService } from "@countersign/proto/account/v1/messages.ts";
import type { NetworksService } from "@countersign/proto/account/v1/networks.ts";
import type { Handlers } from "@countersign/rpc";
import type { Network } from "@countersign/settings";
import { describe, expect, it } from "vitest";
import type { PrepareMessageCommand } from "../domain/messages/prepare-message.ts";
import { accountId, chainName, signal } from "../testing/chain-account.ts";
import { messagesHandlers } from "./messages.ts";
import { networksHandlers } from "./networks.ts";

type Call = Parameters<Handlers<MessagesService>["prepareMessage"]>[1];
const call = { token: { accountId, scope: "full" }, signal } as Call;

const hybridCustody = {} as HybridCustodyNetwork;
const KNOWN =
  "Expected one of add-recovery-key, replace-recovery-key, revoke-recovery-key, revoke-user-key, " +
  "publish-parent-link, claim-parent-link, remove-parent-link";
const HYBRID_CUSTODY = "set-up-hybrid-custody, redeem-hybrid-custody, remove-hybrid-custody, end-hybrid-custody";

describe("PrepareMessage", () => {
  const commands: PrepareMessageCommand[] = [];
  let counted = 0;
  const { prepareMessage } = messagesHandlers(
    async (command) => {
      commands.push(command);
      return Buffer.from("message");
    },
    () => {
      counted += 1;
    },
    new Map([
      [chainName, { chainName }],
      ["linked", { chainName: "linked", hybridCustody }],
    ]),
  );
  const ask = (change: object) =>
    prepareMessage({ chainName, template: "", publicKey: undefined, address: Buffer.alloc(0), ...change }, call);

  it("is for the token's account, and counted for it", async () => {
    const address = Buffer.from("179b6b1cb6755e31", "hex");
    await ask({ template: "publish-parent-link", address });
    const change = { template: "publish-parent-link", other: "179b6b1cb6755e31" };
    expect(commands).toEqual([{ accountId, chainName, change }]);
    expect(counted).toBe(1);
  });

  it.each([
    [{ template: "constructor" }, "/template", KNOWN],
    [{ template: "add-user-key" }, "/template", KNOWN],
    [{ template: "rotate-server-key" }, "/template", KNOWN],
    [{ template: "add-user-key", chainName: "linked" }, "/template", `${KNOWN}, ${HYBRID_CUSTODY}`],
    [{ template: "add-recovery-key" }, "/publicKey", "Required for this template"],
    [{ template: "revoke-user-key" }, "/publicKey", "Required for this template"],
    [{ template: "claim-parent-link" }, "/address", "Required for this template: 16 hex digits"],
    [
      { template: "claim-parent-link", address: Buffer.alloc(9) },
      "/address",
      "Required for this template: 16 hex digits",
    ],
  ])("is refused where something is missing or not offered: %j", async (change, pointer, detail) => {
    await expect(ask(change)).rejects.toMatchObject({
      reason: "InvalidRequest",
      detail: "Some fields are not valid",
      fields: [{ pointer, detail }],
    });
  });

  it("of an unknown template on an unknown chain names the chain", async () => {
    await expect(ask({ template: "add-user-key", chainName: "nowhere" })).rejects.toMatchObject({
      reason: "UnknownChain",
    });
  });
});

describe("ListNetworks", () => {
  const network = (name: string, more: Partial<Network> = {}) =>
    ({
      chainName: name,
      evmChainId: 646,
      accessNode: "http://node.internal/secret-key",
      paymaster: { address: "f3fcd2c1a78f5eee", keyId: 0 },
      explorerTransactionUrl: "https://explorer.example/{id}",
      ...more,
    }) as Network;
  const list = (networks: Network[]) =>
    networksHandlers(unchanging(new Map(networks.map((each) => [each.chainName, each])))).listNetworks(
      {},
      call as Parameters<Handlers<NetworksService>["listNetworks"]>[1],
    );

  it("lists what clients may know, by name, and the public access node where there is one", async () => {
    const { networks } = await list([network("b"), network("a", { publicAccessNode: "https://node.example" })]);
    expect(networks).toEqual([
      {
        chainName: "a",
        chainType: "cadence",
        chainId: 646n,
        accessNode: "https://node.example",
        paymaster: Buffer.from("f3fcd2c1a78f5eee", "hex"),
        explorerUrl: "https://explorer.example/{id}",
      },
      expect.objectContaining({ chainName: "b", accessNode: "http://node.internal/secret-key" }),
    ]);
  });
});
