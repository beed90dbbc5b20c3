import type { DeployAccountResponse } from "@countersign/proto/account/v1/accounts.ts";
import type { Deployed } from "./domain/sign-up/sign-up-saga.ts";

export interface Deployment extends Deployed {
  readonly answer: DeployAccountResponse;
}
