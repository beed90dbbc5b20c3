import type { MethodDefinition } from "@grpc/grpc-js";

// biome-ignore lint/suspicious/noExplicitAny: the messages of a definition are inferred from its serializers
export type AnyMethod = MethodDefinition<any, any>;
/** A service definition, which ts-proto calls `<Name>Service`. */
export type ServiceDefinition = Readonly<Record<string, AnyMethod>>;

export type RequestOf<M> = M extends { requestDeserialize: (value: Buffer) => infer R } ? R : never;
export type ResponseOf<M> = M extends { responseDeserialize: (value: Buffer) => infer R } ? R : never;

/** The input of a method: a request, or a stream of them. */
export type InputOf<M> = M extends Readonly<Record<"requestStream", true>> ? AsyncIterable<RequestOf<M>> : RequestOf<M>;
/** The output of a method: the promise of a response, or a stream of them. */
export type OutputOf<M> =
  M extends Readonly<Record<"responseStream", true>> ? AsyncIterable<ResponseOf<M>> : Promise<ResponseOf<M>>;

/** Returns the name of a method as in peers.json, metrics and logs: "auth.v1.SignUp/SignUp". */
export function rpcName(method: { path: string }): string {
  return method.path.replace(/^\//, "");
}
