import type { Account, AccountAddress } from "./account.ts";

/** The entries of a chain's name services about an account; "" where they have none. */
export interface Profile {
  readonly domainName: string;
  readonly profileImageUrl: string;
}

/** Looks an account up in the name services of its chain. `address`: 16 hex digits. */
export type ProfileLookup = (address: string, signal: AbortSignal) => Promise<Profile>;

/** Returns the known profile of an address of an account. */
export type ProfileOf = (address: AccountAddress) => Profile;

export interface Profiles {
  /** Returns the known profiles of an account's addresses and parents within 200 ms. Never rejects. */
  of(account: Account): Promise<ProfileOf>;
}

export const NO_PROFILE: Profile = { domainName: "", profileImageUrl: "" };
export const noProfiles: ProfileOf = () => NO_PROFILE;
