import { existsSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { Server } from "@grpc/grpc-js";
import { loadFileDescriptorSetFromBuffer, type PackageDefinition } from "@grpc/proto-loader";
import { ReflectionService } from "@grpc/reflection";

let loaded: PackageDefinition | undefined;

/** The descriptors that `buf build` wrote beside the stubs. */
function descriptors(): PackageDefinition | undefined {
  const path = fileURLToPath(import.meta.resolve("@countersign/proto/descriptors.binpb"));
  if (loaded === undefined && existsSync(path)) loaded = loadFileDescriptorSetFromBuffer(readFileSync(path));
  return loaded;
}

/** Adds grpc.reflection.v1 and v1alpha for these services. */
export function addReflection(server: Pick<Server, "addService">, services: readonly string[]): void {
  const definition = descriptors();
  if (definition === undefined) return;
  new ReflectionService(definition, { services: [...new Set(services)] }).addToServer(server);
}
