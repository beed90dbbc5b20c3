import { uuidv4, uuidv7 } from "@countersign/core";
import { FixedClock } from "@countersign/core/testing";
import { generateKeyPair } from "@countersign/keys/node";
import { beforeAll, beforeEach } from "vitest";
import { postgresAccountStore } from "../store/postgres-account-store.ts";
import { ensureProposalKeys, postgresCreationStore } from "../store/postgres-creation-store.ts";
import { postgres, prisma } from "./store-fixture.ts";

export const clock = new FixedClock("2026-11-20T10:00:00Z");
export const chainName = "flow-emulator";
beforeAll(async () => {
  await ensureProposalKeys(prisma, chainName, 4);
  await ensureProposalKeys(prisma, chainName, 4);
});
beforeEach(async () => {
  await prisma.proposalKey.updateMany({ data: { creationId: null, nextSequenceNumber: null } });
  await prisma.deployment.deleteMany();
  await prisma.creation.deleteMany();
});

export const accounts = () => postgresAccountStore(prisma, postgres);
export const creations = () => postgresCreationStore(postgres, { transactionUrl: () => "" });
export const newDeployment = () => ({
  accountId: uuidv7(clock),
  chainName,
  userKey: generateKeyPair().publicKey,
  profileImageUrl: "",
});
export const lease = (owner = uuidv4(), now = clock.now()) => ({ owner, now, until: new Date(now.getTime() + 15_000) });
export const stateOf = async (accountId: string) => (await accounts().find(accountId, chainName))?.deployment?.state;
