import type * as http from "@countersign/http-api/resources.ts";
import type { SignUpResponse } from "@countersign/proto/auth/v1/sign_up.ts";
import type { Account, Address, Credentials, TransactionReference } from "@countersign/proto/common/v1/types.ts";
import type { HttpCall } from "../../http/call.ts";
import { toTimestamp } from "../../http/fields.ts";

export function toAccount(account: Account | undefined): http.Account {
  return {
    id: account?.id ?? "",
    addresses: (account?.addresses ?? []).map(toAddress),
    parent: (account?.parent ?? []).map(toAddress),
    createdAt: toTimestamp(account?.createdAt),
    updatedAt: toTimestamp(account?.updatedAt),
  };
}

function toAddress({ chainId, chainType, ...address }: Address): http.Address {
  const plain = address.address.toLowerCase();
  return {
    address: plain.startsWith("0x") ? plain : `0x${plain}`,
    profileImageUrl: address.profileImageUrl,
    domainName: address.domainName,
    chainName: address.chainName,
    chainId: Number(chainId),
    chainType: chainType as http.Address["chainType"],
  };
}

export function toCredentials(credentials: Credentials | undefined): http.Credentials {
  return { accessToken: credentials?.accessToken ?? "", refreshToken: credentials?.refreshToken ?? "" };
}

/** Returns the reference of a transaction; where there is none, one with empty members. */
export function toTransactionReference(transaction: TransactionReference | undefined): http.TransactionReference {
  const { id = "", chainName = "", refUrl = "" } = transaction ?? {};
  return { id, chainName, refUrl };
}

/** Returns the common answer of sign-up and sign-in, and names its account to the call. */
export function toSignedIn(answer: SignUpResponse, call: Pick<HttpCall, "accountId">): http.SignedIn {
  if (answer.account !== undefined) call.accountId = answer.account.id;
  return {
    account: toAccount(answer.account),
    transaction: toTransactionReference(answer.transaction),
    credentials: toCredentials(answer.credentials),
  };
}
