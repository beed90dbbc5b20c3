import { spawn } from "node:child_process";
import { mkdirSync } from "node:fs";
import { emulatorArguments } from "@countersign/local-stack/emulator.ts";
import { readTrimmed } from "@countersign/local-stack/secrets.ts";
import { portTable } from "@countersign/local-stack/settings.ts";
import { processPath, required, requiredAddress } from "./settings.ts";

/**
 * Returns a port of the emulator that is used inside its container only: on loopback, with any configuration.
 */
const port = (name: "flowGrpc" | "flowAdmin" | "flowDebugger"): number =>
  Number(process.env[portTable[name].variable] ?? portTable[name].port);

// Runs the emulator with its key from a file, which it cannot read by itself; passes signals and its exit
// code on.
const { host, port: rest } = requiredAddress("CS_FLOW_LISTEN");
const dir = required("CS_FLOW_STORE");
mkdirSync(dir, { recursive: true });
const ports = {
  flowRest: rest,
  flowGrpc: port("flowGrpc"),
  flowAdmin: port("flowAdmin"),
  flowDebugger: port("flowDebugger"),
};
const serviceKey = readTrimmed(processPath("flow-emulator", "flow-service.key"));
const binary = process.env.CS_FLOW_EMULATOR ?? "flow-emulator";
const child = spawn(binary, emulatorArguments({ host, ports, dir, serviceKey }), { cwd: dir, stdio: "inherit" });
for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, () => child.kill("SIGINT"));
child.on("error", (error) => {
  console.error(`countersign: ${binary} could not be started: ${error.message}`);
  process.exitCode = 1;
});
child.on("exit", (code) => {
  process.exitCode = code ?? 1;
});
