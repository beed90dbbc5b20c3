/**
 * What services read from CS_PASSKEYS_FILE: one relying party for the pages of these gateways. `localhost` is the one plain-HTTP host that
 * browsers make passkeys for.
 */
export const developmentPasskeys = (gateways: readonly string[]): unknown => ({
  relyingParties: [{ rpId: "localhost", origins: [...gateways] }],
});
