import { Login, requiredText, UserKeyInput } from "@countersign/http-api/requests.ts";
import { SignedIn } from "@countersign/http-api/resources.ts";
import type { Services } from "../clients.ts";
import { type Route, route } from "../http/route.ts";
import { toSignedIn } from "./mapping/account.ts";
import { fromLogin, NEW_KEY_ERRORS, withLoginPointers } from "./mapping/login.ts";
import { fromUserKey } from "./mapping/public-key.ts";
import { DEADLINES, once } from "./rpc.ts";

export const signUpRoutes = ({ signUp }: Services): Route[] => [
  route({
    method: "post",
    path: "/auth/v1/signup",
    operationId: "signUp",
    summary: "Deploys an account on a chain, with the device's key as its first user key",
    token: "optional",
    limit: "sign-up",
    idempotencyKey: true,
    request: { body: Login.extend({ chainName: requiredText(64), userKey: UserKeyInput }) },
    response: SignedIn,
    errors: [...NEW_KEY_ERRORS, "AccountExists", "IdempotencyKeyReused", "DeploymentFailed", "PleaseRegisterKey"],
    handler: async ({ body }, call) => {
      const request = {
        login: fromLogin(body),
        chainName: body.chainName,
        userKey: fromUserKey(body.userKey, "/userKey"),
        idempotencyKey: call.idempotencyKey,
      };
      const answer = await withLoginPointers("", signUp.signUp(request, once(call, DEADLINES.signUp)));
      return toSignedIn(answer, call);
    },
  }),
];
