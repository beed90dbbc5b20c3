import type { ServiceProcess } from "@countersign/runtime";
import { Counter } from "prom-client";
import { type ParserPool, startParserPool } from "./parser-pool.ts";

/**
 * Starts the process's script reader. Without a parser the signer runs, logs an error, and signs templates
 * and listed scripts only.
 */
export async function startReader(
  limits: { workers: number; timeLimitMs: number; directory?: string },
  { logger, metrics, onClose }: Pick<ServiceProcess, "logger" | "metrics" | "onClose">,
): Promise<ParserPool | undefined> {
  const replaced = new Counter({
    name: "countersign_signer_parser_replaced_total",
    help: "Parser threads that a script broke or kept too long",
    registers: [metrics.registry],
  });
  const onReplaced = (why: string) => {
    replaced.inc();
    logger.warn({ event: "parser-replaced", reason: why }, "a parser thread was replaced");
  };
  try {
    const pool = await startParserPool({ ...limits, onReplaced });
    onClose("parser", () => pool.close());
    return pool;
  } catch (err) {
    logger.error(
      { err, event: "parser-missing" },
      "the Cadence parser is missing: custom scripts are refused until it is installed",
    );
    return undefined;
  }
}
