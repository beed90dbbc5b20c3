import { registerHooks } from "node:module";

// The signer has no switch for its records: what it imports as their store is replaced from outside, in the one process that is measured without.
const store = new URL("store.ts", import.meta.url).href;

registerHooks({
  resolve(specifier, context, next) {
    const resolved = next(specifier, context);
    const replaced =
      resolved.url.endsWith("/services/signer/src/store/prisma-audit-store.ts") && context.parentURL !== store;
    return replaced ? { ...resolved, url: store } : resolved;
  },
});
