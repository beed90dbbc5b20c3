import { type ReadFile, readJsonFile, readSecretFile } from "@countersign/runtime";
import { z } from "zod";
import type { KeyHolder } from "./key-holder.ts";
import { createRoutedVault } from "./routed-vault.ts";
import type { Vault } from "./vault.ts";

const holder = z.discriminatedUnion("kind", [
  z.strictObject({ kind: z.literal("pkcs11"), module: z.string(), tokenLabel: z.string(), pinFile: z.string() }),
  z.strictObject({
    kind: z.literal("aws-kms"),
    region: z.string(),
    endpoint: z.url().optional(),
    credentialsFile: z.string().optional(),
  }),
  z.strictObject({ kind: z.literal("gcp-kms"), credentialsFile: z.string().optional() }),
]);
const version = z.int().positive();
const place = { version, vault: z.string(), id: z.string().min(1) };
const file = z
  .strictObject({
    vaults: z.record(z.string(), holder),
    keys: z.array(
      z.discriminatedUnion("role", [
        z.strictObject({ role: z.literal("creator"), chainName: z.string(), ...place }),
        z.strictObject({ role: z.literal("paymaster"), chainName: z.string(), ...place }),
        z.strictObject({ role: z.literal("audit"), ...place }),
      ]),
    ),
  })
  .superRefine(({ vaults, keys }, context) => {
    const seen = new Set<string>();
    keys.forEach((key, i) => {
      const issue = (message: string) => context.addIssue({ code: "custom", path: ["keys", i], message });
      if (!Object.hasOwn(vaults, key.vault)) issue(`there is no vault ${key.vault}`);
      const id = JSON.stringify([key.role, key.role === "audit" ? "" : key.chainName, key.version]);
      if (seen.has(id)) issue("this version has a place already");
      seen.add(id);
    });
  });

/**
 * Opens a vault. Each kind's library is loaded where it is used: they are large, and most signers need none
 * of them.
 */
async function open(settings: z.output<typeof holder>, read?: ReadFile): Promise<KeyHolder> {
  switch (settings.kind) {
    case "pkcs11": {
      const { openPkcs11 } = await import("./pkcs11.ts");
      return openPkcs11({ ...settings, pin: readSecretFile(settings.pinFile, read) });
    }
    case "aws-kms":
      if (settings.credentialsFile !== undefined) readSecretFile(settings.credentialsFile, read);
      return (await import("./aws-kms.ts")).awsKms(settings);
    case "gcp-kms":
      if (settings.credentialsFile !== undefined) readSecretFile(settings.credentialsFile, read);
      return (await import("./gcp-kms.ts")).gcpKms(settings);
  }
}

/**
 * Opens the keystore's vault with the keys that the vaults file places elsewhere; without `path` there are
 * none. Errors: ConfigError, KeyHolderError, Unavailable.
 */
export async function openVaults(
  keystore: Vault,
  path: string | undefined,
  read?: ReadFile,
): Promise<{ vault: Vault; close(): void }> {
  if (!path) return { vault: keystore, close: () => undefined };
  const { vaults, keys } = readJsonFile(path, file, read);
  const holders = new Map<string, KeyHolder>();
  const close = () => {
    for (const each of holders.values()) each.close();
  };
  try {
    for (const [name, settings] of Object.entries(vaults)) holders.set(name, await open(settings, read));
    const held = keys.map((key) => ({ ...key, holder: holders.get(key.vault)! }));
    return { vault: await createRoutedVault(keystore, held), close };
  } catch (error) {
    close();
    throw error;
  }
}
