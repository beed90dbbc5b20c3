import type { Account, Address, Credentials, TransactionReference } from "@countersign/proto/common/v1/types.ts";
import { z } from "zod";
import { toTimestamp } from "../../http/validation.ts";

export const addressSchema = z.object({
  address: z.string(),
  profileImageUrl: z.string(),
  domainName: z.string(),
  chainName: z.string(),
  chainId: z.int(),
  chainType: z.string(),
});

export const accountSchema = z.object({
  id: z.string(),
  addresses: z.array(addressSchema),
  parent: z.array(addressSchema),
  createdAt: z.string(),
  updatedAt: z.string(),
});

export const transactionReferenceSchema = z.object({ id: z.string(), chainName: z.string(), refUrl: z.string() });

export const credentialsSchema = z.object({ accessToken: z.string(), refreshToken: z.string() });

/** What sign-up and sign-in answer. */
export const signedInSchema = z.object({
  account: accountSchema,
  transaction: transactionReferenceSchema,
  credentials: credentialsSchema,
});

/** An account as clients see it. */
export function toAccount(account: Account | undefined): z.infer<typeof accountSchema> {
  return {
    id: account?.id ?? "",
    addresses: (account?.addresses ?? []).map(toAddress),
    parent: (account?.parent ?? []).map(toAddress),
    createdAt: toTimestamp(account?.createdAt),
    updatedAt: toTimestamp(account?.updatedAt),
  };
}

function toAddress(address: Address): z.infer<typeof addressSchema> {
  const plain = address.address.toLowerCase();
  return {
    address: plain.startsWith("0x") ? plain : `0x${plain}`,
    profileImageUrl: address.profileImageUrl,
    domainName: address.domainName,
    chainName: address.chainName,
    chainId: Number(address.chainId),
    chainType: address.chainType,
  };
}

/** Tokens as clients see them. */
export function toCredentials(credentials: Credentials | undefined): z.infer<typeof credentialsSchema> {
  return { accessToken: credentials?.accessToken ?? "", refreshToken: credentials?.refreshToken ?? "" };
}

/** The common answer of sign-up and sign-in. The reference is always there; its id is "" while nothing was sent. */
export function toSignedIn(answer: {
  account: Account | undefined;
  transaction: TransactionReference | undefined;
  credentials: Credentials | undefined;
}): z.infer<typeof signedInSchema> {
  const { id = "", chainName = "", refUrl = "" } = answer.transaction ?? {};
  return {
    account: toAccount(answer.account),
    transaction: { id, chainName, refUrl },
    credentials: toCredentials(answer.credentials),
  };
}
