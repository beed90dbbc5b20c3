import { relative, resolve } from "node:path";
import { root } from "@countersign/build/paths.ts";
import { buildPackages } from "./build-packages.ts";

/** `npm run build:packages`: builds and packs, and prints the files. */
export async function buildPackagesCommand(out: string): Promise<void> {
  const built = await buildPackages(resolve(root, out));
  for (const { name, tarball } of built) console.log(`${name}: ${relative(process.cwd(), tarball)}`);
}
