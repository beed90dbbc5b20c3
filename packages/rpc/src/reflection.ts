import { existsSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";
import type { MethodDefinition, Server } from "@grpc/grpc-js";

const require = createRequire(import.meta.url);
const VERSIONS = ["v1", "v1alpha"] as const;

interface Implemented {
  definition: MethodDefinition<unknown, unknown>;
  handler: (call: unknown) => void;
}

const FILE_TAG = 0x0a;

/**
 * Splits a google.protobuf.FileDescriptorSet into its files: `repeated FileDescriptorProto file = 1`, each
 * after its tag and length.
 */
function filesOf(set: Buffer): Buffer[] {
  const files: Buffer[] = [];
  for (let at = 0; at < set.length; ) {
    if (set[at++] !== FILE_TAG) throw new Error("not a FileDescriptorSet");
    let length = 0;
    for (let shift = 0, more = true; more; shift += 7) {
      const byte = set[at++] ?? 0;
      length += (byte & 0x7f) * 2 ** shift;
      more = byte > 0x7f;
    }
    files.push(set.subarray(at, at + length));
    at += length;
  }
  return files;
}

/** Returns what @grpc/reflection offers for these services, by the path of its method. */
function load(services: ReadonlySet<string>, descriptors: string): Map<string, Implemented> {
  const { ReflectionService } = require("@grpc/reflection") as typeof import("@grpc/reflection");
  const found = new Map<string, Implemented>();
  const collect: Pick<Server, "addService"> = {
    addService(service, implementation) {
      for (const [name, definition] of Object.entries(service)) {
        const handler = implementation[name] ?? implementation[definition.originalName ?? ""];
        found.set(definition.path, { definition, handler: handler as unknown as Implemented["handler"] });
      }
    },
  };
  // As buf wrote them: files that proto-loader has read lose their names, and their type references cannot be
  // resolved by grpcurl.
  const files = { all: { fileDescriptorProtos: filesOf(readFileSync(descriptors)) } };
  type Definitions = ConstructorParameters<typeof ReflectionService>[0];
  new ReflectionService(files as unknown as Definitions, { services: [...services] }).addToServer(collect);
  return found;
}

/**
 * Adds grpc.reflection.v1 and v1alpha for these services, from the descriptors that `buf build` wrote beside
 * the generated code. They are loaded on first use: they take 60 MiB and are rarely requested.
 */
export function addReflection(server: Pick<Server, "addService">, services: ReadonlySet<string>): void {
  const descriptors = fileURLToPath(import.meta.resolve("@countersign/proto/descriptors.binpb"));
  if (!existsSync(descriptors)) return;
  let loaded: Map<string, Implemented> | undefined;
  const implemented = (path: string): Implemented => {
    loaded ??= load(services, descriptors);
    return loaded.get(path)!;
  };
  for (const version of VERSIONS) {
    const path = `/grpc.reflection.${version}.ServerReflection/ServerReflectionInfo`;
    const definition: MethodDefinition<unknown, unknown> = {
      path,
      requestStream: true,
      responseStream: true,
      requestSerialize: (value) => implemented(path).definition.requestSerialize(value),
      requestDeserialize: (bytes) => implemented(path).definition.requestDeserialize(bytes),
      responseSerialize: (value) => implemented(path).definition.responseSerialize(value),
      responseDeserialize: (bytes) => implemented(path).definition.responseDeserialize(bytes),
    };
    const handler = (call: unknown) => implemented(path).handler(call);
    server.addService({ ServerReflectionInfo: definition }, { ServerReflectionInfo: handler } as never);
  }
}
