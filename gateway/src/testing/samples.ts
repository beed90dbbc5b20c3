import { SAMPLE_KEYS } from "./fake-services.ts";

const login = { method: "id_token_channel", token: "an-id-token", chainName: "flow-emulator" };

/** One good request of every operation that has input. */
export const GOOD_REQUESTS: Record<string, { path?: string; body?: Record<string, unknown> }> = {
  signUp: { body: { ...login, userKey: { type: "device", publicKey: SAMPLE_KEYS.p256, device: { name: "Phone" } } } },
  issueChallenge: { body: { challengeType: "deviceKey", request: login, publicKey: SAMPLE_KEYS.p256 } },
  respondChallenge: {
    body: {
      challengeType: "deviceKey",
      challengeData: "000102030405060708090a0b0c0d0e0f",
      deviceKey: { signature: "ab".repeat(64) },
    },
  },
  refreshToken: { body: { refreshToken: "a-refresh-token" } },
  endSession: { path: "/auth/v1/sessions/0197a1b2-0000-7000-8000-000000000001" },
  updateDevice: { path: `/device/v1/devices/${SAMPLE_KEYS.p256}`, body: { name: "Tablet" } },
  removeDevice: { path: `/device/v1/devices/${SAMPLE_KEYS.p256}` },
  signTransaction: { body: { message: "464c4f57" } },
  signPaymaster: { body: { message: "464c4f57" } },
};

/** Bodies with one wrong type each, and the pointer that must name it. */
export const WRONG_TYPES: [operationId: string, body: unknown, pointer: string][] = [
  ["signUp", { ...GOOD_REQUESTS.signUp!.body, token: 1 }, "/token"],
  ["signUp", { ...GOOD_REQUESTS.signUp!.body, method: "carrier_pigeon" }, "/method"],
  [
    "signUp",
    { ...GOOD_REQUESTS.signUp!.body, userKey: { type: "device", publicKey: 5, device: {} } },
    "/userKey/publicKey",
  ],
  ["signUp", { ...GOOD_REQUESTS.signUp!.body, userKey: { type: "device", publicKey: "00" } }, "/userKey/device"],
  ["signUp", { ...GOOD_REQUESTS.signUp!.body, chainName: "\ud800" }, "/chainName"],
  ["issueChallenge", { ...GOOD_REQUESTS.issueChallenge!.body, request: [] }, "/request"],
  ["issueChallenge", { challengeType: "deviceKey", request: login }, "/publicKey"],
  ["issueChallenge", { ...GOOD_REQUESTS.issueChallenge!.body, request: { chainName: "x" } }, "/request/method"],
  ["respondChallenge", { ...GOOD_REQUESTS.respondChallenge!.body, challengeData: "xyz" }, "/challengeData"],
  ["respondChallenge", { ...GOOD_REQUESTS.respondChallenge!.body, deviceKey: null }, "/deviceKey"],
  [
    "respondChallenge",
    { ...GOOD_REQUESTS.respondChallenge!.body, deviceKey: { signature: "" } },
    "/deviceKey/signature",
  ],
  ["refreshToken", { refreshToken: null }, "/refreshToken"],
  ["updateDevice", { name: "x".repeat(257) }, "/name"],
  ["updateDevice", { pushToken: "x".repeat(4_097) }, "/pushToken"],
  ["updateDevice", { lang: "a\u0000b" }, "/lang"],
  ["signTransaction", { message: "0x123" }, "/message"],
  ["signPaymaster", { message: { hex: "00" } }, "/message"],
];
