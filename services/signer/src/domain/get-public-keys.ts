import type { PublicKey } from "@countersign/keys";
import { type ChainPolicy, creatorVersion, paymasterVersion } from "../policy/chain.ts";
import type { Vault } from "../vault/index.ts";

/** Returns the public keys of a chain's paymaster and creator that sign now. Errors: UnknownChain. */
export const getPublicKeys =
  ({ vault, chain }: { vault: Vault; chain(name: string): ChainPolicy }) =>
  async (chainName: string): Promise<{ paymaster: PublicKey; creator: PublicKey }> => {
    const policy = chain(chainName);
    const newestKeyId = policy.creator.keyCount - 1;
    const [paymaster, creator] = await Promise.all([
      vault.publicKey({ role: "paymaster", chainName, version: paymasterVersion(policy) }),
      vault.publicKey({ role: "creator", chainName, version: creatorVersion(policy, newestKeyId) }),
    ]);
    return { paymaster, creator };
  };
