import { asOutsidePort, type Clock, type Watched } from "@countersign/core";
import { createOpenIdProvider, type OpenIdProvider } from "./openid-provider.ts";
import type { ProviderConfig } from "./providers-file.ts";

/**
 * Creates the clients of the configured identity providers. The array follows the configuration; a provider
 * whose settings have not changed keeps its client, which knows the provider's keys.
 */
export function openProviders(configs: Watched<readonly ProviderConfig[]>, clock: Clock): readonly OpenIdProvider[] {
  const providers: OpenIdProvider[] = [];
  let opened = new Map<string, OpenIdProvider>();
  const follow = (wanted: readonly ProviderConfig[]): void => {
    const entries = wanted.map((config): [string, OpenIdProvider] => {
      const settings = JSON.stringify(config);
      const provider = opened.get(settings) ?? asOutsidePort("provider", createOpenIdProvider(config, clock));
      return [settings, provider];
    });
    opened = new Map(entries);
    providers.splice(0, providers.length, ...opened.values());
  };
  follow(configs.current());
  configs.onChange(follow);
  return providers;
}
