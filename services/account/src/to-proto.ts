import { type DeployAccountResponse, DeploymentStatus } from "@countersign/proto/account/v1/accounts.ts";
import type {
  Account as ProtoAccount,
  Address as ProtoAddress,
  TransactionReference,
} from "@countersign/proto/common/v1/types.ts";
import type { Account, AccountAddress, AccountDeployment, DeploymentState } from "./domain/accounts/account.ts";
import type { Profile, ProfileOf } from "./domain/accounts/profiles.ts";

/** Returns common.v1.Address; addresses carry 0x outside of the services. */
export const addressToProto = (
  { address, chainName, chainType, chainId }: AccountAddress,
  { domainName, profileImageUrl }: Profile,
): ProtoAddress => ({
  address: chainType === "cadence" ? `0x${address}` : address,
  profileImageUrl,
  domainName,
  chainName,
  chainType,
  chainId: BigInt(chainId),
});

/** Gives addresses without a picture on chain the picture of the login. */
export const accountToProto = (account: Account, profileOf: ProfileOf): ProtoAccount => ({
  id: account.id,
  addresses: account.addresses.map((address) => {
    const { domainName, profileImageUrl } = profileOf(address);
    return addressToProto(address, { domainName, profileImageUrl: profileImageUrl || account.profileImageUrl });
  }),
  parent: account.parents.map((address) => addressToProto(address, profileOf(address))),
  createdAt: account.createdAt,
  updatedAt: account.updatedAt,
});

/** Where a transaction's page is. */
export type TransactionUrl = (chainName: string, id: string) => string;

export const transactionToProto = (id: string, chainName: string, url: TransactionUrl): TransactionReference => ({
  id,
  chainName,
  refUrl: id === "" ? "" : url(chainName, id),
});

const STATUS = {
  queued: DeploymentStatus.DEPLOYMENT_STATUS_PENDING,
  assigned: DeploymentStatus.DEPLOYMENT_STATUS_PENDING,
  deployed: DeploymentStatus.DEPLOYMENT_STATUS_DEPLOYED,
  failed: DeploymentStatus.DEPLOYMENT_STATUS_FAILED,
  cancelled: DeploymentStatus.DEPLOYMENT_STATUS_FAILED,
} as const satisfies Record<DeploymentState, DeploymentStatus>;

/** Returns account and deployment in the form of DeployAccount's and GetAccount's answers. */
export function deploymentToProto(
  { account, deployment }: AccountDeployment,
  transactionUrl: TransactionUrl,
  profileOf: ProfileOf,
): DeployAccountResponse {
  const { chainName = "", transactionId: id = "" } = deployment ?? {};
  return {
    status: deployment ? STATUS[deployment.state] : DeploymentStatus.DEPLOYMENT_STATUS_UNSPECIFIED,
    account: accountToProto(account, profileOf),
    transaction: deployment && transactionToProto(id, chainName, transactionUrl),
  };
}
