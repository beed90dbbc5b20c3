import type { AddressInfo } from "node:net";

/** Tells the benchmark, which started this process, where it listens. */
export function announce(address: AddressInfo | string | null): void {
  process.stdout.write(`${JSON.stringify(address)}\n`);
}
