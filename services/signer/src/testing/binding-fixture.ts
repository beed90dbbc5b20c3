import { uuidv7 } from "@countersign/core";
import type { Binding } from "../policy/account.ts";
import { type PostgresBindingStore, postgresBindingStore } from "../store/postgres-binding-store.ts";
import { prismaEffectStore } from "../store/prisma-effect-store.ts";
import { clock, postgres, prisma } from "./store-fixture.ts";

export const chainName = "flow-emulator";
let addresses = 0;
export const newAddress = () => (0x1000 + addresses++).toString(16).padStart(16, "0");
export const someBinding = (change: Partial<Binding> = {}): Binding => ({
  accountId: uuidv7(clock),
  chainName,
  address: newAddress(),
  serverKeyIndex: 0,
  serverKeyVersion: 1,
  ...change,
});

/** Returns a binding that is in the database. */
export async function bound(): Promise<Binding> {
  const binding = someBinding();
  await postgresBindingStore(postgres).insert(binding, { now: clock.now(), requestId: "" });
  return binding;
}

/** Writes the rows that signing a rotation to this version leaves behind. */
export const beginRotation = async (
  binding: Binding,
  version: number,
  bindings: Pick<PostgresBindingStore, "forgetEverywhere"> = { forgetEverywhere: async () => undefined },
): Promise<void> => {
  await prismaEffectStore(prisma, bindings).record(binding, [{ kind: "rotation", version }], clock.now());
};
