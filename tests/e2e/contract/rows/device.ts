import { randomUUID } from "node:crypto";
import { z } from "zod";
import { newPhone, secondPhone, signUpPerson, stack, tokenOf } from "../../../support/person.ts";
import { nobodysToken } from "../common-codes.ts";
import { exchange } from "../exchange.ts";
import { accountIdOf, attributes, fullDeviceOf, once } from "../people.ts";
import { device } from "../resources.ts";
import { type Rows, unprovoked, WITHIN_LIMIT } from "../rows.ts";

const NOT_ON_THE_CURVE = "ab".repeat(64);
const owner = once(signUpPerson);
const second = once(async () => secondPhone(await owner()));

const update = async (body: object, name?: string) => {
  const person = await owner();
  return exchange("updateDevice", { token: tokenOf(person), name: name ?? person.deviceKey.publicKey, body });
};
const remove = async (name: string) => exchange("removeDevice", { token: tokenOf(await owner()), name });

export const devices: Rows = {
  listDevices: {
    success: async () => exchange("listDevices", { token: tokenOf(await owner()) }),
    answer: z.strictObject({ devices: z.array(device).min(1) }),
    codes: {},
  },
  updateDevice: {
    success: () => {
      const { type: _, ...changes } = attributes;
      return update({ ...changes, sdkVersion: "1.2.3" });
    },
    answer: z.strictObject({ device: device.extend({ sdkVersion: z.literal("1.2.3") }) }),
    codes: {
      InvalidRequest: () => update({ id: randomUUID() }),
      InvalidPublicKey: () => update({}, NOT_ON_THE_CURVE),
      DeviceNotFound: () => update({ name: "Mine now" }, newPhone().deviceKey.publicKey),
      PushTokenNotYours: async () => update({ pushToken: "mine" }, (await second()).deviceKey.publicKey),
      RateLimited: WITHIN_LIMIT,
    },
    hostile: {
      answers: ["DeviceNotFound"],
      sample: (victim) => {
        const { publicKey: _key, algorithm: _algorithm, type: _type, ...changes } = fullDeviceOf(victim);
        return { body: { id: "", ...changes } };
      },
    },
  },
  removeDevice: {
    success: async () => remove((await secondPhone(await owner())).deviceKey.publicKey),
    codes: {
      InvalidRequest: () => remove("a".repeat(257)),
      InvalidPublicKey: () => remove(NOT_ON_THE_CURVE),
      DeviceNotFound: () => remove(newPhone().deviceKey.publicKey),
      DeviceTooYoung: async () => {
        const { deviceKey } = await owner();
        return exchange("removeDevice", { token: tokenOf(await second()), name: deviceKey.publicKey });
      },
      LastDevice: async () => {
        const person = await signUpPerson();
        return exchange("removeDevice", { token: tokenOf(person), name: person.deviceKey.publicKey });
      },
      ChainUnavailable: unprovoked(
        "the stack's chain answers; describe-access.test.ts and remove-device.test.ts play one that does not",
      ),
      RateLimited: WITHIN_LIMIT,
      AccountFrozen: async () => {
        const person = await signUpPerson();
        const other = tokenOf(await secondPhone(person));
        await exchange("freezeAccount", { token: tokenOf(person) });
        return exchange("removeDevice", { token: other, name: person.deviceKey.publicKey });
      },
    },
    hostile: { answers: ["DeviceNotFound"] },
  },
};

export const events: Rows = {
  watchEvents: {
    // `send` goes away as soon as the stream is open; what it carries is in events.test.ts.
    success: async () => exchange("watchEvents", { token: tokenOf(await owner()) }),
    answer: z.undefined(),
    codes: {
      InvalidRequest: async () =>
        exchange("watchEvents", { token: await nobodysToken(), headers: { "last-event-id": "x" } }),
      RateLimited: async () => {
        const person = await signUpPerson();
        const streams = new AbortController();
        const headers = { authorization: `Bearer ${tokenOf(person)}` };
        try {
          for (let open = 0; open < 100; open++) {
            const answer = await fetch(`${stack.gateway}/device/v1/events`, { headers, signal: streams.signal });
            if (answer.status === 429) return await exchange("watchEvents", { token: tokenOf(person) });
          }
          throw new Error(`${accountIdOf(person)} may open any number of streams`);
        } finally {
          streams.abort();
        }
      },
    },
    hostile: { answers: [200, "RateLimited"] },
  },
};
