import { type ClientNetwork, type CountersignClient, type Device, revokeDevice } from "@countersign/client";

/** Ends its sessions and revokes its keys on chain. May be repeated until it is done. */
export const revoke = (client: CountersignClient, device: Device, network: ClientNetwork) =>
  revokeDevice(client, device, { networks: [network] });
