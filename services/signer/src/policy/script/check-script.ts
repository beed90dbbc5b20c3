import type { DecodedMessage } from "@countersign/flow";
import { refusal } from "../refusal.ts";
import type { KnownScripts } from "./known-scripts.ts";
import { type ScriptPolicy, violationOf } from "./script-rules.ts";

/** Returns whether a script must be read: not where it is on the allow list. Errors: SigningRefused. */
function mustBeRead(scriptHash: string, { mode, scripts }: ScriptPolicy): boolean {
  if (scripts.denied.has(scriptHash)) throw refusal("DeniedScript", "the script is on the deny list");
  if (scripts.allowed.has(scriptHash)) return false;
  if (mode === "templates") throw refusal("ScriptNotListed", "the policy signs only templates and listed scripts");
  return true;
}

export interface ScriptRequest {
  readonly policy: ScriptPolicy;
  /** SHA-256 of the script, hex. */
  readonly scriptHash: string;
  /** See KnownScripts. */
  readonly sender: string;
}

/**
 * Rejects a custom script that breaks a rule. The facts of a script that was read before are in memory.
 * Errors: SigningRefused with the rule's reason, RateLimited where too many new scripts wait.
 */
export async function checkCustomScript(
  scripts: KnownScripts,
  { script, authorizers }: Pick<DecodedMessage, "script" | "authorizers">,
  { policy, scriptHash, sender }: ScriptRequest,
): Promise<void> {
  if (!mustBeRead(scriptHash, policy)) return;
  const facts = scripts.known(scriptHash, sender) ?? (await scripts.learn(scriptHash, script, sender));
  const violation = violationOf(facts, { policy, authorizers: authorizers.length });
  if (violation) throw refusal(violation.reason, violation.detail);
}
