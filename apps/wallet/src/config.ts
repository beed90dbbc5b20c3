import type { ClientNetwork } from "@countersign/client";

/** The settings that this page's server sends at /config.json. */
export interface Config {
  gateway: string;
  issuer: string;
  clientId: string;
  network: ClientNetwork;
}

export const config: Config = await (await fetch("/config.json")).json();
export const { network } = config;
