import { account } from "./account.ts";
import { page } from "./page.ts";
import { protection } from "./protection.ts";

/** All texts of the page in English. Other languages have the same shape: `Texts`. */
export const en = { ...page, ...account, ...protection };

export type Texts = typeof en;
