import { type DeviceAttributes, isUuid, uuidv7 } from "@countersign/core";
import { openPostgres } from "@countersign/postgres";
import { command, foundLine, loadEnv, readJsonLines, UsageError } from "@countersign/runtime";
import { z } from "zod";
import { PrismaClient } from "../store/generated/client.ts";

const UNKNOWN_DEVICE: DeviceAttributes = {
  ...{ pushToken: "", name: "Phone", osName: "", osVersion: "", deviceManufacturer: "", deviceModel: "" },
  ...{ lang: "", type: "mobile", sdkVersion: "" },
};

/**
 * `auth accounts adopt`: gives an account that only the chain still knew to an identity again, as a completed
 * sign-up with the key that it was created with. Signing in takes that key and a login of the identity. Exit
 * code 1 where account or identity is known.
 */
export const accountsAdopt = command({
  usage:
    "accounts adopt <account id> --accounts <file of signer restore> --issuer <iss> --subject <sub> --email <e-mail> --app <app id>",
  about: "Gives an account that a restore found on chain to an identity again, after support has verified the person.",
  options: {
    accounts: { type: "string" },
    issuer: { type: "string" },
    subject: { type: "string" },
    email: { type: "string" },
    app: { type: "string" },
  },
  positionals: true,
  async run({ values, positionals: [accountId, ...rest], env, print }) {
    const { accounts, issuer, subject, email, app } = values;
    if (!accountId || !isUuid(accountId) || rest.length > 0 || !accounts || !issuer || !subject || !email || !app)
      throw new UsageError(this.usage);
    const found = readJsonLines(accounts, foundLine).filter((each) => each.accountId === accountId);
    if (found.length === 0) throw new Error(`${accounts} has no account ${accountId}`);
    const { AUTH_DATABASE_URL } = loadEnv(z.object({ AUTH_DATABASE_URL: z.string() }), env);
    const { adapter, close } = openPostgres(AUTH_DATABASE_URL, { connections: 1 });
    const prisma = new PrismaClient({ adapter });
    const now = new Date();
    try {
      const known = await prisma.identity.findFirst({ where: { OR: [{ accountId }, { issuer, subject }] } });
      if (known) {
        print(`nothing is changed: account ${known.accountId} and the identity ${known.subject} belong together`);
        return 1;
      }
      await prisma.$transaction([
        prisma.identity.create({ data: { issuer, subject, accountId, email, name: "", createdAt: now } }),
        ...found.map(({ chainName, userKey: { algorithm, publicKey } }) =>
          prisma.signUp.create({
            data: {
              ...{ accountId, chainName, appId: app, appName: "", userKeyType: "device", profileImageUrl: "" },
              ...{ accountKeyAlgorithm: algorithm, accountKey: publicKey },
              ...{ deviceKeyAlgorithm: algorithm, deviceKey: publicKey, deviceAttributes: { ...UNKNOWN_DEVICE } },
              ...{ deviceId: uuidv7({ now: () => now }), deployedAt: now, leaseUntil: now, createdAt: now },
            },
          }),
        ),
      ]);
      print(`${accountId} belongs to ${subject} at ${issuer}; its key and device are registered at once`);
      return 0;
    } finally {
      await close();
    }
  },
});
