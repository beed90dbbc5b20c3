import { describeKeyAddition, matchingCode, type ShownTwoFactor } from "@countersign/client";
import { device, other, publicKeyOf } from "./test-keys.ts";
import { addition, hexMessage } from "./transactions.ts";

const ACCOUNT_ID = "0197a1b2-0000-7000-8000-000000000001";
const TWO_FACTOR_ID = "0197a1b2-0000-7000-8000-00000000000a";
const MATCHING_CODES = [
  { accountId: ACCOUNT_ID, twoFactorId: TWO_FACTOR_ID, accountKey: device, deviceKey: device },
  { accountId: ACCOUNT_ID, twoFactorId: TWO_FACTOR_ID, accountKey: device, deviceKey: publicKeyOf("EdDSA") },
  { accountId: ACCOUNT_ID.toUpperCase(), twoFactorId: TWO_FACTOR_ID, accountKey: other, deviceKey: device },
];

const SAME_CODES: [first: string, second: string, same: boolean][] = [
  ["BSRK-DM1E", "bsrk dm1e", true],
  ["BSRK-DM1E", "BSRKDMIE", true],
  ["BSRK-DM1E", "b s r k – d m l e", true],
  ["0000-1111", "OoOo IiLl", true],
  ["BSRK-DM1E", "BSRK-DM1F", false],
  ["BSRK-DM1E", "BSRK-DM1", false],
  ["", "", false],
  ["BSRK-DMUU", "BSRK-DMUU", false],
];

interface Names {
  appName: string;
  name: string;
  deviceManufacturer: string;
  deviceModel: string;
  osName: string;
  osVersion: string;
  email: string;
  ip: string;
  location: string;
}

const NAMES: Names = {
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

const SHOWN: Names[] = [
  NAMES,
  Object.fromEntries(Object.keys(NAMES).map((name) => [name, ""])) as unknown as Names,
  { ...NAMES, name: "phone” \u202e\u200b\u0007 “evil", location: "", email: "" },
  { ...NAMES, name: "🦊".repeat(70), deviceModel: "e\u0301".repeat(70), osName: "  \t a \n b  " },
];

/** Returns the part of a request that a person decides on. */
const shownTwoFactor = (names: Names): ShownTwoFactor =>
  ({
    id: TWO_FACTOR_ID,
    accountId: ACCOUNT_ID,
    request: {
      app: { appId: "demo", appName: names.appName },
      userOpInfo: { type: "sign-in", signIn: { email: names.email, ip: names.ip, location: names.location } },
      srcDevice: { ...other, ...names },
      message: hexMessage(addition(other)),
    },
  }) as unknown as ShownTwoFactor;

/** Returns the vectors of an enrollment: matching codes and the text that its approver reads. */
export const enrollmentVectors = async () => ({
  matchingCodes: await Promise.all(
    MATCHING_CODES.map(async (input) => ({ ...input, code: await matchingCode(input) })),
  ),
  sameMatchingCodes: SAME_CODES.map(([first, second, same]) => ({ first, second, same })),
  enrollments: await Promise.all(
    SHOWN.map(async (names) => {
      const { id, accountId, request } = shownTwoFactor(names);
      const { algorithm, publicKey } = other;
      return {
        id,
        accountId,
        message: request.message,
        device: { algorithm, publicKey },
        names,
        text: await describeKeyAddition(shownTwoFactor(names)),
      };
    }),
  ),
});
