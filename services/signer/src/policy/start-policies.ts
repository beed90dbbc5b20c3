import { type Files, readJsonFile, type ServiceProcess } from "@countersign/runtime";
import { Gauge } from "prom-client";
import { DEFAULT_POLICY, type Policy, type PolicySource, policyFile } from "./policy.ts";

/**
 * Starts the process's policy: from the file, loaded again when it changes, and at once on SIGHUP; without a
 * file the default policy. Errors: ConfigError where the first one is not valid.
 */
export function startPolicies(
  file: string | undefined,
  service: Pick<ServiceProcess, "logger" | "metrics" | "onClose"> & { files: Pick<Files, "watch"> },
): PolicySource {
  const { files, logger, metrics, onClose } = service;
  const version = new Gauge({
    name: "countersign_signer_policy",
    help: "1 for the policy in effect",
    labelNames: ["version"] as const,
    registers: [metrics.registry],
  });
  const onLoaded = (policy: Policy): void => {
    version.reset();
    version.set({ version: policy.version }, 1);
    logger.info({ event: "policy-loaded", policyVersion: policy.version }, "policy in effect");
  };
  if (file === undefined) {
    onLoaded(DEFAULT_POLICY);
    return { current: () => DEFAULT_POLICY };
  }
  const source = files.watch("policy", (read) => readJsonFile(file, policyFile, read));
  onLoaded(source.current());
  source.onChange(onLoaded);
  process.on("SIGHUP", source.refresh);
  onClose("policy", () => process.off("SIGHUP", source.refresh));
  return source;
}
