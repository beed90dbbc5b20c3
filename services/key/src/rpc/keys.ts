import { limitIdOf, limitPerMinute, type VerifiedToken } from "@countersign/core";
import type { Device, PublicKey as ProtoPublicKey } from "@countersign/proto/common/v1/types.ts";
import type { KeysService, SignInKey } from "@countersign/proto/key/v1/keys.ts";
import {
  type CallContext,
  type Handlers,
  parseRequest,
  publicKeyField,
  publicKeyFromProto,
  publicKeyToProto,
  requireToken,
  textField,
  USER_KEY_TYPES,
  uuidField,
} from "@countersign/rpc";
import { z } from "zod";
import { describeAccess } from "../domain/describe-access.ts";
import { findSignInKey } from "../domain/find-sign-in-key.ts";
import type { FollowChain } from "../domain/follow-chain.ts";
import { type ListedKey, listKeys } from "../domain/list-keys.ts";
import { listPasskeys } from "../domain/list-passkeys.ts";
import type { ChainDirectory, DeviceDirectory } from "../domain/ports.ts";
import { recordKeyUse } from "../domain/record-key-use.ts";
import { type RegisterKeyOptions, registerKey } from "../domain/register-key.ts";
import { registerRecoveryKey } from "../domain/register-recovery-key.ts";
import type { Registration } from "../domain/registration.ts";
import { reportRevocation } from "../domain/report-revocation.ts";
import { chainName, keyOrigin, toWireKey, userKeyType, wireOrigins } from "./conversions.ts";

type KeysOptions = RegisterKeyOptions & {
  devices: DeviceDirectory<CallContext, Device>;
  chain: ChainDirectory<CallContext>;
  /**
   * Reports of one device, and removals of devices by themselves of one account, in each replica: each reads
   * the chain and locks the account.
   */
  reportsPerMinute: number;
  /** See followChain and repairOnRead. */
  follow(command: FollowChain): Promise<void>;
  repair(command: FollowChain): Promise<void>;
  /** How a recovery key's registration reads the chain, which may take longer than for a list of keys. */
  registration: Pick<KeysOptions, "chain" | "follow">;
};

const registerShape = z.object({
  accountId: uuidField,
  chainName,
  app: z.object({ appId: textField().min(1, "is empty"), appName: textField() }),
  type: userKeyType,
  accountKey: publicKeyField("/accountKey"),
  deviceKey: publicKeyField("/deviceKey"),
  keyIndex: z.int32().nonnegative(),
  origin: keyOrigin,
  name: textField(),
});

/** A key that is looked up: one that is not on its curve is not registered either. */
const knownKey = z.custom<ProtoPublicKey | undefined>().transform((key) => publicKeyFromProto(key));
const signInShape = z.object({ accountId: uuidField, chainName, publicKey: knownKey });
const passkeysShape = z.object({ accountId: uuidField, chainName });
const accessShape = z.object({ accountId: uuidField });

const recoveryShape = z.object({
  publicKey: publicKeyField("/recoveryKey/publicKey"),
  cloudAccountName: textField(),
  chainName: z.union([z.literal(""), chainName]),
});

const revocationShape = z.object({
  publicKey: z.instanceof(Uint8Array).refine(({ length }) => length === 64 || length === 32, "is not a key"),
  txId: z.string().regex(/^[0-9a-f]{64}$/, "is not 64 hex digits in lower case"),
});

/** Returns a registration as auth needs it to open a session. */
const toSignInKey = ({ type, accountKey, deviceKey, origin }: Registration): SignInKey => ({
  type: USER_KEY_TYPES[type],
  accountKey: publicKeyToProto(accountKey),
  deviceKey: publicKeyToProto(deviceKey),
  origin: wireOrigins[origin],
});

const toWireKeys = (keys: ListedKey<Device>[]) =>
  keys.map(({ registration, device }) => toWireKey(registration, device));

/** Handles key.v1.Keys. */
export function keysHandlers(options: KeysOptions): Handlers<KeysService> {
  const register = registerKey(options);
  const find = findSignInKey(options);
  const recordUse = recordKeyUse(options);
  const passkeys = listPasskeys(options);
  const describe = describeAccess(options);
  const list = listKeys(options);
  const report = reportRevocation(options);
  const registerRecovery = registerRecoveryKey({ ...options, ...options.registration });
  const limit = limitPerMinute(options.clock);
  /** Returns the token of a report. Errors: Unauthenticated, RateLimited. */
  const reporter = (call: CallContext): VerifiedToken => {
    const token = requireToken(call);
    limit(limitIdOf(token), options.reportsPerMinute);
    return token;
  };
  return {
    async registerKey(request, { requestId }) {
      return { key: toWireKey(await register({ ...parseRequest(registerShape, request), requestId }), undefined) };
    },

    async findSignInKeys({ queries }, { logger }) {
      const answers = queries.map(async ({ usedAt, ...query }) => {
        const key = await find(parseRequest(signInShape, query));
        // A sign-in does not wait for it: nothing is decided by the time of the last use.
        if (key && usedAt)
          recordUse({ ...key, usedAt }).catch((err) => logger.warn({ err }, "use of a key not recorded"));
        return { key: key && toSignInKey(key) };
      });
      return { answers: await Promise.all(answers) };
    },

    listPasskeys: async (request) => ({
      passkeys: (await passkeys(parseRequest(passkeysShape, request))).map(toSignInKey),
    }),

    async describeAccess(request, { requestId }) {
      const { accountId } = parseRequest(accessShape, request);
      limit(accountId, options.reportsPerMinute);
      const chains = await describe({ accountId, requestId });
      return { chains: chains.map((each) => ({ ...each, deviceKeys: each.deviceKeys.map(publicKeyToProto) })) };
    },

    async listKeys({ includeRevoked }, call) {
      const { accountId } = requireToken(call);
      return {
        keys: toWireKeys(await list({ accountId, session: call, includeRevoked, requestId: call.requestId })),
      };
    },

    async registerRecoveryKey(request, call) {
      const { accountId, appId } = reporter(call);
      const { requestId } = call;
      await registerRecovery({ ...parseRequest(recoveryShape, request), accountId, appId, requestId });
      return { keys: toWireKeys(await list({ accountId, session: call, includeRevoked: false, requestId })) };
    },

    async reportRevocation(request, call) {
      const { accountId } = reporter(call);
      const { publicKey: key, txId } = parseRequest(revocationShape, request);
      const { requestId } = call;
      const hex = Buffer.from(key).toString("hex");
      await report({ accountId, publicKey: hex, transactionId: txId, session: call, requestId });
      return {};
    },
  };
}
