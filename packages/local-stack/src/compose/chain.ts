import { reportFailure } from "@countersign/build/fail.ts";
import { setUpNetwork } from "@countersign/local-stack/chain-setup.ts";
import { baseEnvironment } from "@countersign/local-stack/service-environment.ts";
import { processPath, required } from "./settings.ts";

/**
 * Creates the signer's keystore, creator and paymaster on the chain, and the networks file: a step of
 * docker-compose.yml.
 */
async function setUpChain(): Promise<void> {
  const network = await setUpNetwork({
    accessNode: required("CS_FLOW_ACCESS_NODE"),
    publicAccessNode: process.env.CS_FLOW_PUBLIC_ACCESS_NODE,
    networksFile: required("CS_NETWORKS_FILE"),
    serviceKeyFile: processPath("flow-emulator", "flow-service.key"),
    env: {
      ...baseEnvironment(),
      SIGNER_KEYSTORE_FILE: required("SIGNER_KEYSTORE_FILE"),
      SIGNER_KEYSTORE_PASSPHRASE_FILE: required("SIGNER_KEYSTORE_PASSPHRASE_FILE"),
    },
  });
  console.log(`creator 0x${network.creator.address}, paymaster 0x${network.paymaster.address}`);
}

await setUpChain().catch(reportFailure);
