import type { AddressInfo } from "node:net";

/** Reports the address to the benchmark, the parent process, as a line of JSON on stdout. */
export function announce(address: AddressInfo | string | null): void {
  process.stdout.write(`${JSON.stringify(address)}\n`);
}
