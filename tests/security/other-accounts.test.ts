import { randomUUID } from "node:crypto";
import { bytesToHex, hexToBytes } from "@countersign/keys";
import { beforeAll, describe, expect, it } from "vitest";
import { requestEnrollment } from "../e2e/contract/people.ts";
import { chainName, newPhone, secondPhone, signUpPerson, tokenOf } from "../support/person.ts";
import { send } from "../support/raw-request.ts";
import { HOSTILE_ROUTES, hostileRoute } from "./routes.ts";
import { query } from "./token-forge.ts";

interface Named {
  /** The name of something that the owner has. */
  name: string;
  query?: string;
  body?: object;
  /** The answer to everybody else. */
  error: string;
}

let named: Record<string, Named>;
let token: string;
let ownerSees: () => Promise<unknown[]>;
beforeAll(async () => {
  const [owner, other] = await Promise.all([signUpPerson(), signUpPerson()]);
  const second = await secondPhone(owner);
  const { id, message } = await requestEnrollment(owner);
  const destDeviceId = (await owner.client.devices())[0]!.id;
  const timeLockId = randomUUID();
  await query(
    "signer",
    `INSERT INTO time_lock (id, account_id, chain_name, operation, request_hash, started_at, contested_since, available_at, lapses_at)
     VALUES ($1, $2, $3, 'add-user-key', $4, now(), now(), now() + interval '1 hour', now() + interval '2 hours')`,
    [timeLockId, owner.signedUp.account.id, chainName, "ab".repeat(32)],
  );
  token = tokenOf(other);
  ownerSees = () => {
    const paths = ["auth/v1/sessions", "device/v1/2fa", "device/v1/devices", "key/v1/keys", "account/v1/time-locks"];
    const asOwner = { method: "GET", token: tokenOf(owner) };
    return Promise.all(paths.map(async (path) => (await send({ ...asOwner, path: `/${path}` })).body));
  };
  const [sessions] = (await ownerSees()) as [{ sessions: { id: string; current: boolean }[] }];
  const request = { name: id, error: "TwoFactorAuthNotFound" };
  const key = second.deviceKey.publicKey;
  named = {
    getTwoFactor: request,
    redirectTwoFactor: { ...request, body: { destDeviceId } },
    rejectTwoFactor: request,
    // Right for the owner, who could send it.
    approveTwoFactor: {
      ...request,
      body: { signature: bytesToHex(await owner.deviceKey.sign(hexToBytes(message))) },
    },
    updateDevice: { name: key, body: { name: "Mine now" }, error: "DeviceNotFound" },
    removeDevice: { name: key, error: "DeviceNotFound" },
    reportRevocation: { name: key, query: `?txId=${owner.signedUp.transaction.id}`, error: "KeyNotFound" },
    endSession: { name: sessions.sessions.find(({ current }) => !current)!.id, error: "SessionNotFound" },
    cancelTimeLock: { name: timeLockId, error: "TimeLockNotFound" },
  };
});

describe("names of another account's things", () => {
  const routes = HOSTILE_ROUTES.filter(({ path }) => path.includes("{"));

  it("are in the paths of these operations, all of them", () => {
    expect(Object.keys(named).sort()).toEqual(routes.map(({ operationId }) => operationId).sort());
  });

  it("are answered as names of nothing, and nothing changes", async () => {
    const before = await ownerSees();
    for (const [operationId, { name, query: parameters = "", body, error }] of Object.entries(named)) {
      const { method, path } = hostileRoute(operationId);
      const ask = (each: string) =>
        send({ method, path: path.replace(/\{\w+\}/, each) + parameters, token, body }).then(
          ({ status, body: all }) => {
            const { instance: _, ...problem } = all;
            return { status, problem };
          },
        );
      const nobodys = path.includes("{publicKey}") ? newPhone().deviceKey.publicKey : randomUUID();
      const answer = await ask(name);
      expect(answer).toMatchObject({ status: 404, problem: { error } });
      expect(answer, operationId).toEqual(await ask(nobodys));
    }
    expect(await ownerSees()).toEqual(before);
  });
});
