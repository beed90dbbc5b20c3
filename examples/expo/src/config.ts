/** The stack of `npm start -- --app dev.countersign.example:/callback`, unless variables name another. */
export const gateway = process.env.EXPO_PUBLIC_GATEWAY ?? "http://localhost:8080";
export const issuer = process.env.EXPO_PUBLIC_ISSUER ?? "http://localhost:9000";
export const chainName = process.env.EXPO_PUBLIC_CHAIN ?? "flow-emulator";
export const clientId = "app-dev-countersign-example";
export const redirectUri = "dev.countersign.example:/callback";
