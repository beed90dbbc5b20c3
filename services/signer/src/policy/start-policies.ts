import type { ServiceProcess } from "@countersign/runtime";
import { Counter, Gauge } from "prom-client";
import type { PolicySource } from "./policy.ts";
import { watchPolicyFile } from "./policy-file.ts";

/**
 * Starts the process's policy: from the file, reloaded when it changes and on SIGHUP. A new file that is not
 * a valid policy changes nothing, and raises an alert.
 */
export function startPolicies(
  file: string | undefined,
  { logger, metrics, onClose }: Pick<ServiceProcess, "logger" | "metrics" | "onClose">,
): PolicySource {
  const registers = [metrics.registry];
  const refused = new Counter({
    name: "countersign_signer_policy_refused_total",
    help: "Policy files that were not valid; the old policy stays in effect",
    registers,
  });
  const version = new Gauge({
    name: "countersign_signer_policy",
    help: "1 for the policy in effect",
    labelNames: ["version"] as const,
    registers,
  });
  const source = watchPolicyFile({
    file,
    logger,
    onLoaded: (policy) => {
      version.reset();
      version.set({ version: policy.version }, 1);
      logger.info({ event: "policy-loaded", policyVersion: policy.version }, "policy in effect");
    },
    onRefused: (err) => {
      refused.inc();
      logger.error(
        { err, event: "policy-refused" },
        "the new policy file is not valid; the old policy stays in effect",
      );
    },
  });
  process.on("SIGHUP", source.reload);
  onClose("policy", () => {
    process.off("SIGHUP", source.reload);
    return source.close();
  });
  return source;
}
