import { randomUUID } from "node:crypto";
import { sendParentLink } from "@countersign/client";
import { z } from "zod";
import { query } from "../../../security/token-forge.ts";
import {
  chainName,
  network,
  newPhone,
  type Person,
  secondPhone,
  signUpPerson,
  tokenOf,
} from "../../../support/person.ts";
import { plain } from "../../key-changes.ts";
import { nobodysToken } from "../common-codes.ts";
import { exchange } from "../exchange.ts";
import { accountIdOf, once, undeployed } from "../people.ts";
import { account, accountWithParents, address, hex, network as networkSchema, timeLock } from "../resources.ts";
import { CHAIN_AWAY, type Rows, seenIn, unprovoked, WITHIN_LIMIT } from "../rows.ts";

const owner = once(signUpPerson);
const freezer = once(signUpPerson);
const asOwner = async (operationId: string) => exchange(operationId, { token: tokenOf(await owner()) });

/**
 * Starts a time lock that began `sinceSeconds` ago and was requested again for `contestedDays`; returns its
 * id.
 */
async function waiting(person: Person, sinceSeconds: number, contestedDays = 0): Promise<string> {
  const id = randomUUID();
  await query("signer", "DELETE FROM time_lock WHERE account_id = $1", [accountIdOf(person)]);
  await query(
    "signer",
    `INSERT INTO time_lock (id, account_id, chain_name, operation, request_hash, started_at, available_at, lapses_at, contested_since)
     VALUES ($1, $2, $3, 'add-user-key', $4, now() - $5 * interval '1 second', now() + interval '1 hour', now() + interval '2 hours',
       now() - $5 * interval '1 second' - $6 * interval '1 day')`,
    [id, accountIdOf(person), chainName, "ab".repeat(32), sinceSeconds, contestedDays],
  );
  return id;
}

const cancel = async (sinceSeconds: number, contestedDays?: number) => {
  const person = await owner();
  const name = await waiting(person, sinceSeconds, contestedDays);
  return exchange("cancelTimeLock", { token: tokenOf(person), name });
};

/** Asks for a message of the owner's. */
const prepare = async (body: Record<string, unknown>, token?: string) =>
  exchange("prepareMessage", { token: token ?? tokenOf(await owner()), body: { chainName, ...body } });

export const accounts: Rows = {
  getMe: {
    success: () => asOwner("getMe"),
    // One of each kind: the Cadence address and the EVM address of its Cadence-owned account.
    answer: z.strictObject({ account: account.extend({ addresses: z.array(address).length(2) }) }),
    codes: {},
  },
  linkParent: {
    success: async () => {
      const [child, parent] = [await owner(), await signUpPerson()];
      await sendParentLink(child.client, { network, template: "publish-parent-link", other: parent.address });
      await sendParentLink(parent.client, { network, template: "claim-parent-link", other: child.address });
      return asOwner("linkParent");
    },
    answer: z.strictObject({ account: accountWithParents.extend({ parent: z.array(address).length(1) }) }),
    codes: {
      ParentNotLinked: async () => exchange("linkParent", { token: tokenOf(await freezer()) }),
      AccountNotReady: async () => exchange("linkParent", { token: (await undeployed()).token }),
      ChainUnavailable: CHAIN_AWAY,
      RateLimited: WITHIN_LIMIT,
    },
    hostile: { answers: ["ParentNotLinked"] },
  },
  listNetworks: {
    success: () => asOwner("listNetworks"),
    answer: z.strictObject({ networks: z.array(networkSchema).length(1) }),
    codes: {},
  },
  prepareMessage: {
    success: async () => prepare({ template: "add-recovery-key", publicKey: newPhone().deviceKey.publicKey }),
    answer: z.strictObject({ message: hex }),
    codes: {
      InvalidPublicKey: () => prepare({ template: "add-recovery-key", publicKey: "ab" }),
      UnknownChain: () => prepare({ template: "revoke-recovery-key", chainName: "nowhere" }),
      UnsupportedKey: () => prepare({ template: "add-recovery-key", ...plain(newPhone("EdDSA").deviceKey) }),
      AccountNotReady: async () => prepare({ template: "revoke-recovery-key" }, (await undeployed()).token),
      KeyNotFound: () => prepare({ template: "revoke-recovery-key" }),
      KeyAlreadyRegistered: async () => prepare({ template: "add-recovery-key", ...plain((await owner()).deviceKey) }),
      RateLimited: unprovoked(
        "the stack's limits are a hundred times as high; see services/account/src/rpc/chain-reads.test.ts",
      ),
      ChainUnavailable: seenIn("services/device/src/domain/two-factor/open-two-factor.test.ts"),
    },
    hostile: {
      sample: () => ({
        body: {
          template: "add-recovery-key",
          chainName,
          publicKey: newPhone().deviceKey.publicKey,
          algorithm: "ES256",
          address: "0x01cf0e2f2f715450",
        },
      }),
    },
    besides: "docs/keys.md",
  },
  freezeAccount: {
    success: async () => exchange("freezeAccount", { token: tokenOf(await freezer()) }),
    codes: {
      TimeLockContested: async () => {
        const person = await signUpPerson();
        await query(
          "auth",
          "INSERT INTO recovery_lift (account_id, since, last_at) VALUES ($1, now() - interval '31 days', now())",
          [accountIdOf(person)],
        );
        return exchange("freezeAccount", { token: tokenOf(person) });
      },
    },
    hostile: { asNobody: true },
  },
  unfreezeAccount: {
    // Nothing to lift: changes nothing.
    success: () => asOwner("unfreezeAccount"),
    codes: {
      // Every device of the stack's accounts is older than their freeze; none is enrolled while it lasts.
      UnfreezeNotAllowed: async () => {
        const person = await signUpPerson();
        const token = tokenOf(person);
        const other = tokenOf(await secondPhone(person));
        await exchange("freezeAccount", { token });
        const yesterday = new Date(Date.now() - 86_400_000);
        const setTime = "UPDATE frozen_account SET frozen_at = $2 WHERE account_id = $1";
        await query("auth", setTime, [accountIdOf(person), yesterday]);
        return exchange("unfreezeAccount", { token: other });
      },
      AccountUnderReview: seenIn("tests/e2e/chain-watch.test.ts"),
      TimeLockRequired: async () => {
        const token = tokenOf(await freezer());
        await exchange("freezeAccount", { token });
        return exchange("unfreezeAccount", { token });
      },
      RateLimited: WITHIN_LIMIT,
    },
    hostile: { asNobody: true },
  },
  listTimeLocks: {
    success: async () => {
      await waiting(await owner(), 0);
      return asOwner("listTimeLocks");
    },
    answer: z.strictObject({ timeLocks: z.array(timeLock).min(1) }),
    codes: {},
    besides: "docs/recovery.md",
  },
  cancelTimeLock: {
    success: () => cancel(0),
    codes: {
      InvalidRequest: async () => exchange("cancelTimeLock", { token: await nobodysToken(), name: "1" }),
      TimeLockNotFound: async () => asOwner("cancelTimeLock"),
      DeviceTooYoung: () => cancel(3600),
      TimeLockContested: () => cancel(0, 31),
    },
    hostile: { answers: ["TimeLockNotFound"] },
    besides: "docs/recovery.md",
  },
};
