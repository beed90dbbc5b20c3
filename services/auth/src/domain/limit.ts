/** Counts a request of a client address. Errors: RateLimited. */
export type Limit = (client: { readonly clientIp?: string }) => Promise<void>;
