import { describeKeyAddition, type MatchingCodeInput, type ShownTwoFactor } from "@countersign/client";
import { device, other, publicKeyOf } from "./test-keys.ts";
import { addition, hexMessage } from "./transactions.ts";

const KEYS = { accountKey: device, deviceKey: device };
const OTHER_DEVICE = { accountKey: device, deviceKey: publicKeyOf("EdDSA") };
const OTHER_ACCOUNT_KEY = { accountKey: other, deviceKey: device };

const MATCHING_CODES: [typed: string, keys: MatchingCodeInput, matches: boolean][] = [
  ["BSRK-HX8N", KEYS, true],
  ["0001-G07P", OTHER_DEVICE, true],
  ["BSRK-XXVP", OTHER_ACCOUNT_KEY, true],
  ["bsrk hx8n", KEYS, true],
  ["b s r k – h x 8 n", KEYS, true],
  ["BSRK\u00a0HX8N", KEYS, true],
  ["ooOI-gO7p", OTHER_DEVICE, true],
  ["000LG07P", OTHER_DEVICE, true],
  ["BSRK-HX8N", OTHER_DEVICE, false],
  ["BSRK-HX8N", OTHER_ACCOUNT_KEY, false],
  ["BSRK-HX8M", KEYS, false],
  ["BSRJ-HX8N", KEYS, false],
  ["BSRK-HX8", KEYS, false],
  ["BSRK-HX8N0", KEYS, false],
  ["HX8N", KEYS, false],
  ["", KEYS, false],
];

const NAMES = {
  appName: "Demo wallet",
  name: "Ada's new phone",
  deviceManufacturer: "Google",
  deviceModel: "Pixel 9",
  osName: "Android",
  osVersion: "16",
  email: "ada@example.com",
  ip: "192.0.2.7",
  location: "Vienna, Austria",
};
type Names = typeof NAMES;

const SHOWN: Names[] = [
  NAMES,
  Object.fromEntries(Object.keys(NAMES).map((name) => [name, ""])) as unknown as Names,
  { ...NAMES, name: "phone” \u202e\u200b\u0007 “evil", location: "", email: "" },
  { ...NAMES, name: "🦊".repeat(70), deviceModel: "e\u0301".repeat(70), osName: "  \t a \n b  " },
  { ...NAMES, appName: "\u2800", name: "\u3164\ufe0f\u{e0101} \u115f\u{1d159}", deviceModel: "\u180b9\u17b4\uffa0" },
];

/** Returns the part of a request that a person decides on. */
const shownTwoFactor = (names: Names): ShownTwoFactor =>
  ({
    request: {
      app: { appId: "demo", appName: names.appName },
      userOpInfo: { type: "sign-in", signIn: { email: names.email, ip: names.ip, location: names.location } },
      srcDevice: { ...other, ...names },
      message: hexMessage(addition(other)),
    },
  }) as unknown as ShownTwoFactor;

/** Returns the vectors of an enrollment: matching codes and the text that its approver reads. */
export const enrollmentVectors = () => ({
  matchingCodes: MATCHING_CODES.map(([typed, keys, matches]) => ({ typed, keys, matches })),
  enrollments: SHOWN.map((names) => {
    const { request } = shownTwoFactor(names);
    const { algorithm, publicKey } = other;
    return {
      message: request.message,
      device: { algorithm, publicKey },
      names,
      text: describeKeyAddition(shownTwoFactor(names)),
    };
  }),
});
