import type { Texts } from "../en/index.ts";
import { account } from "./account.ts";
import { page } from "./page.ts";
import { protection } from "./protection.ts";

/** All texts of the page in German. */
export const de: Texts = { ...page, ...account, ...protection };
