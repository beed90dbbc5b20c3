import { isOrigin, isRpId, type PasskeySettings } from "@countersign/keys";
import { type Files, type ReadFile, readJsonFile } from "@countersign/runtime/config.ts";
import { z } from "zod";

const relyingParty = z
  .strictObject({
    rpId: z.string().refine(isRpId, "must be a domain name in lower case"),
    origins: z.array(z.string()).min(1),
    /** The apps whose sessions and logins may use it; absent: every app. */
    appIds: z.array(z.string().min(1)).min(1).optional(),
  })
  .superRefine(({ rpId, origins }, context) => {
    for (const [index, origin] of origins.entries()) {
      if (isOrigin(origin, rpId)) continue;
      context.addIssue({
        code: "custom",
        path: ["origins", index],
        message: `must be https://${rpId}, or below it, or an app's android:apk-key-hash:… or ios:bundle-id:…`,
      });
    }
  });

const file = z.strictObject({ relyingParties: z.array(relyingParty) });

/** Reads the file that CS_PASSKEYS_FILE names; without it, no app accepts passkeys. Errors: ConfigError. */
export function loadPasskeys(path: string | undefined, read?: ReadFile): PasskeySettings {
  const parties = path === undefined ? [] : readJsonFile(path, file, read).relyingParties;
  return {
    relyingPartiesOf: (appId) => parties.filter(({ appIds }) => appIds === undefined || appIds.includes(appId)),
  };
}

/** Reads it, and again when it changes. Errors: ConfigError. */
export function watchPasskeys(files: Pick<Files, "watch">, path: string | undefined): PasskeySettings {
  if (path === undefined) return loadPasskeys(path);
  const passkeys = files.watch("passkeys", (read) => loadPasskeys(path, read));
  return { relyingPartiesOf: (appId) => passkeys.current().relyingPartiesOf(appId) };
}
