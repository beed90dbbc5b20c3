import { AppError, type Clock, HOUR_MS, unknownChain } from "@countersign/core";
import { type PublicKey, samePublicKey } from "@countersign/keys";
import type { FollowChain } from "./follow-chain.ts";
import type { ChainDirectory, KeyStore, NewId } from "./ports.ts";
import { isActive, OF_USER_KEY, type Registration } from "./registration.ts";

/** How long a reported key may be missing on chain before the report is dropped. */
export const PENDING_MS = HOUR_MS;
/**
 * Reports of an account on one chain that may be pending. None takes another one's place: a thief's device
 * could have the chain show a key that nobody has reported, and it would not sign in.
 */
export const MAX_PENDING = 8;

interface RegisterRecoveryKey {
  accountId: string;
  appId: string;
  publicKey: PublicKey;
  cloudAccountName: string;
  /** "": the account's first chain, or the one that shows the key already. */
  chainName: string;
  requestId: string;
}

export interface RegisterRecoveryKeyOptions {
  store: KeyStore;
  chain: Pick<ChainDirectory<never>, "list">;
  follow(command: FollowChain): Promise<void>;
  clock: Clock;
  newId: NewId;
}

/**
 * Registers the key that a client reports as the account's recovery key, before or after it is on chain. The
 * key on chain stays until the chain revokes it.
 * Errors: UnsupportedKey, UnknownChain, AccountNotReady, KeyAlreadyRegistered, ChainUnavailable, RateLimited
 * while MAX_PENDING other keys are reported and this one is not on chain.
 *
 * Writes: the report in one commit; then `follow` compares the registrations with the chain.
 * Crash: a report that the chain never shows is dropped after PENDING_MS; repeating the call changes nothing.
 * Race: one call of an account at a time, over all replicas.
 */
export function registerRecoveryKey({ store, chain, follow, clock, newId }: RegisterRecoveryKeyOptions) {
  return async (command: RegisterRecoveryKey): Promise<void> => {
    const { accountId, publicKey, requestId, cloudAccountName } = command;
    if (publicKey.algorithm === "EdDSA") throw new AppError("UnsupportedKey");
    const chains = await chain.list(accountId);
    const showing = chains.filter(({ keys }) =>
      keys.some((key) => key.role === "recovery" && !key.revoked && samePublicKey(key.publicKey, publicKey)),
    );
    const chainName = command.chainName || (showing[0] ?? chains[0])?.chainName;
    if (chainName === undefined) throw new AppError("AccountNotReady");
    const names = chains.map((each) => each.chainName);
    if (!names.includes(chainName)) throw unknownChain(chainName, names);

    await store.withAccount(accountId, async (keys) => {
      const now = clock.now();
      const all = (await keys.all()).filter((each) => each.chainName === chainName && each.revokedAt === null);
      const same = all.find(({ accountKey }) => samePublicKey(accountKey, publicKey));
      const registered: Pick<Registration, "origin" | "cloudAccountName" | "app" | "alertAt"> = {
        origin: "recovery",
        cloudAccountName,
        app: { appId: command.appId, appName: "" },
        alertAt: null,
      };
      if (same && same.kind !== "recovery") throw new AppError("KeyAlreadyRegistered");
      if (same && isActive(same)) {
        if (same.origin === "recovery" && same.cloudAccountName === cloudAccountName) return;
        const registration = { ...same, ...registered };
        await keys.update(registration);
        if (same.origin !== "recovery") {
          await keys.publish({ type: "key-registered", registration, occurredAt: now, requestId });
        }
        return;
      }
      if (same) await keys.remove(same.id);
      else if (!showing.some((each) => each.chainName === chainName)) requireFewPending(all, now);
      await keys.insert({
        ...OF_USER_KEY,
        ...registered,
        id: newId(),
        accountId,
        chainName,
        type: "device",
        accountKey: publicKey,
        deviceKey: publicKey,
        name: "",
        keyIndex: -1,
        kind: "recovery",
        pendingUntil: new Date(now.getTime() + PENDING_MS),
        createdAt: now,
        lastUsedAt: null,
        revokedAt: null,
      });
    });
    await follow({ accountId, requestId });
  };
}

/** Errors: RateLimited. */
function requireFewPending(registrations: readonly Registration[], now: Date): void {
  const ends = registrations.flatMap(({ pendingUntil }) => pendingUntil?.getTime() ?? []);
  const left = ends.filter((end) => end > now.getTime()).map((end) => end - now.getTime());
  if (left.length >= MAX_PENDING)
    throw new AppError("RateLimited", { retryAfterSeconds: Math.ceil(Math.min(...left) / 1000) });
}
