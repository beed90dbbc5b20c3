/**
 * Returns the content of CS_PASSKEYS_FILE: a relying party for each host of these pages. `localhost` is the
 * one plain-HTTP host that browsers make passkeys for.
 */
export function developmentPasskeys(origins: readonly string[]): unknown {
  const byHost = Map.groupBy(new Set(origins), (origin) => new URL(origin).hostname);
  return { relyingParties: [...byHost].map(([rpId, pages]) => ({ rpId, origins: pages })) };
}
