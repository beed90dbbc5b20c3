/**
 * Returns the content of CS_PASSKEYS_FILE: one relying party for the pages of these origins. `localhost` is
 * the one plain-HTTP host that browsers make passkeys for.
 */
export const developmentPasskeys = (origins: readonly string[]): unknown => ({
  relyingParties: [{ rpId: "localhost", origins: [...origins] }],
});
