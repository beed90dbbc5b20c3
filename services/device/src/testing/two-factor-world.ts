import { type AppError, newTrace } from "@countersign/core";
import { FixedClock } from "@countersign/core/testing";
import { challengeOf } from "@countersign/keys";
import { generateKeyPair, type KeyPair, signMessage } from "@countersign/keys/node";
import { type Said, simulatedPasskey, TEST_RELYING_PARTY } from "@countersign/keys/testing";
import { v7 } from "uuid";
import type { Device } from "../domain/devices/device.ts";
import type { DeviceStore } from "../domain/devices/device-store.ts";
import { registerDevice } from "../domain/devices/register-device.ts";
import { type ApproverSession, approveTwoFactor } from "../domain/two-factor/approve-two-factor.ts";
import { describeEnrollment } from "../domain/two-factor/describe-enrollment.ts";
import type { OfTwoFactor } from "../domain/two-factor/find-two-factor.ts";
import { finishTwoFactor } from "../domain/two-factor/finish-two-factor.ts";
import { getTwoFactor } from "../domain/two-factor/get-two-factor.ts";
import { listTwoFactor } from "../domain/two-factor/list-two-factor.ts";
import { type OpenTwoFactor, openTwoFactor } from "../domain/two-factor/open-two-factor.ts";
import type { TwoFactorStore } from "../domain/two-factor/ports.ts";
import { redirectTwoFactor } from "../domain/two-factor/redirect-two-factor.ts";
import { rejectTwoFactor } from "../domain/two-factor/reject-two-factor.ts";
import { reopenTwoFactor } from "../domain/two-factor/reopen-two-factor.ts";
import { sweepTwoFactor } from "../jobs/two-factor-sweeper.ts";
import { type FakeKeyAdditions, fakeKeyAdditions } from "./fake-key-additions.ts";
import { someAttributes, someRegistration } from "./samples.ts";
import { silentLogger } from "./silent-logger.ts";

/** How long a request waits in tests, in milliseconds: as long as its ephemeral token. */
export const LIFE_MS = 5 * 60 * 1000;

/** A registered device with the keys of its session. */
export interface Registered {
  device: Device;
  session: ApproverSession;
  keys: KeyPair;
}

/** The content of an assertion, and the challenge that it answers where it is not the message's. */
interface Asserted {
  said?: Said;
  challenge?: Uint8Array;
}

/** Returns all commands over a store, a fixed clock and a fake account service. */
export function twoFactorWorld(stores: { requests: TwoFactorStore; devices: DeviceStore }, clock = new FixedClock()) {
  const chain: FakeKeyAdditions = fakeKeyAdditions();
  const frozen = new Set<string>();
  const isFrozen = (accountId: string) => frozen.has(accountId);
  const maxDevices = 20;
  const passkeys = { relyingPartiesOf: (appId: string) => (appId === "demo" ? [TEST_RELYING_PARTY] : []) };
  const ports = { ...stores, keyAdditions: chain, clock, isFrozen, passkeys, maxDevices };
  const limits = { pending: 5, rejections: 3 };
  const approve = approveTwoFactor(ports);
  const reject = rejectTwoFactor({ ...ports, limits });
  const requestId = "test";
  const call = { requestId, trace: newTrace() };

  return {
    ...stores,
    clock,
    chain,
    /** Accounts that are frozen. */
    frozen,
    ports,
    open: openTwoFactor({ ...ports, limits, locate: (ip) => (ip === "192.0.2.1" ? "Bern, Switzerland" : "") }),
    get: getTwoFactor(ports),
    list: listTwoFactor(ports),
    redirect: redirectTwoFactor(ports),
    reject: (command: OfTwoFactor & { inRecovery?: boolean }) => reject({ inRecovery: false, ...command }),
    reopen: reopenTwoFactor(ports),
    describe: describeEnrollment(ports),
    finish: finishTwoFactor(ports),
    sweep: sweepTwoFactor({ ...ports, logger: silentLogger }),

    /** Registers a device and signs it in. */
    async device(accountId: string): Promise<Registered> {
      const keys = generateKeyPair();
      const register = registerDevice({ store: stores.devices, clock, maxDevices });
      const device = await register(someRegistration(accountId, keys.publicKey));
      return {
        device,
        keys,
        session: { accountId, deviceKey: keys.publicKey, accountKey: keys.publicKey, appId: "demo" },
      };
    },
    /** auth's request for a new device. */
    enrollmentRequest(accountId: string, changes: Partial<OpenTwoFactor> = {}): OpenTwoFactor {
      const { publicKey } = generateKeyPair();
      return {
        id: v7(),
        accountId,
        chainName: "flow-emulator",
        app: { appId: "demo", appName: "Demo" },
        userKey: { type: "device", accountKey: publicKey, deviceKey: publicKey, device: someAttributes },
        signIn: { email: "ada@example.org", ip: "192.0.2.1", location: "" },
        expiresAt: new Date(clock.now().getTime() + LIFE_MS),
        recovering: false,
        byRecoverySession: false,
        requestId,
        ...changes,
      };
    },
    /** Approves with a signature over `message`. */
    sign: ({ session, keys }: Registered, id: string, message: Uint8Array) =>
      approve({
        session,
        twoFactorId: id,
        requestId,
        call,
        approval: { signature: signMessage(keys.privateKey, message) },
      }),
    /** Approves with an assertion of the device's account key, as if it were a passkey. */
    assert({ session, keys }: Registered, id: string, message: Uint8Array, { said = {}, challenge }: Asserted = {}) {
      const asked = challenge ?? challengeOf({ transaction: message });
      const { signature, ...passkey } = simulatedPasskey(keys).assert(asked, said);
      return approve({ session, twoFactorId: id, requestId, call, approval: { signature, passkey } });
    },
    /** Approves with a transaction of the user's own. */
    report: ({ session }: Registered, id: string, transactionId: string) =>
      approve({ session, twoFactorId: id, requestId, call, approval: { transactionId } }),
    /** Approves with arbitrary bytes as the signature. */
    approveWith: ({ session }: Registered, id: string, signature: Uint8Array) =>
      approve({ session, twoFactorId: id, requestId, call, approval: { signature } }),
  };
}

export type TwoFactorWorld = ReturnType<typeof twoFactorWorld>;

/** Returns the shape of an AppError for `rejects.toMatchObject`. */
export const refused = (reason: AppError["reason"]) => ({ reason });
