import type { DeployAccountResponse } from "@countersign/proto/account/v1/accounts.ts";
import type { SignUpService } from "@countersign/proto/auth/v1/sign_up.ts";
import type { Handlers } from "@countersign/rpc";
import type { Limit } from "../domain/limit.ts";
import { type SignUpOptions, signUp } from "../domain/sign-up/sign-up.ts";
import type { Deployed } from "../domain/sign-up/sign-up-saga.ts";
import { newKeyRequestFrom } from "./conversions.ts";

/** A deployment with the answer of the account service, which the client gets. */
type Deployment = Deployed & { readonly answer: DeployAccountResponse };

/** Handles auth.v1.SignUp. */
export function signUpHandlers(options: SignUpOptions<Deployment>, limit: Limit): Handlers<SignUpService> {
  const command = signUp(options);
  return {
    async signUp(request, call) {
      await limit(call);
      const { token, tokenRefusal } = call;
      const asked = newKeyRequestFrom(request, "/chainName", call);
      const { deployment, credentials } = await command({ ...asked, token, tokenRefusal });
      const { account, transaction } = deployment.answer;
      return { account, transaction, credentials };
    },
  };
}
