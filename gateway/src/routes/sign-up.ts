import { attestation, ChainNameInput, Login, UserKeyInput } from "@countersign/http-api/requests.ts";
import { SignedIn } from "@countersign/http-api/resources.ts";
import type { Services } from "../clients.ts";
import { route, type UntaggedRoute } from "../http/route.ts";
import { toSignedIn } from "./mapping/account.ts";
import { fromAttestation, fromLogin, NEW_KEY_ERRORS, newKeyBeyondSchema, withLoginPointers } from "./mapping/login.ts";
import { fromUserKey } from "./mapping/public-key.ts";
import { DEADLINES, once } from "./rpc.ts";

export const signUpRoutes = ({ signUp }: Services): UntaggedRoute[] => [
  route({
    method: "post",
    path: "/auth/v1/signup",
    operationId: "signUp",
    summary: "Deploys an account on a chain, with the device's key as its first user key",
    description:
      "The login's identity gets an account; the answer waits up to 20 seconds for the chain, and has " +
      "no addresses where that did not suffice. With the access token of a full session the account " +
      "gets a further network instead. Repeat it with the same `Idempotency-Key` after a lost answer.",
    token: "optional",
    idempotencyKey: true,
    request: {
      body: Login.extend({
        chainName: ChainNameInput,
        userKey: UserKeyInput,
        ...attestation,
      }).meta({
        id: "SignUpRequest",
        description: "A login at an identity provider, with the key of the first device.",
      }),
    },
    beyondSchema: newKeyBeyondSchema(""),
    response: SignedIn,
    errors: [
      ...NEW_KEY_ERRORS,
      "AccountExists",
      "IdempotencyKeyReused",
      "DeploymentFailed",
      "PleaseRegisterKey",
      "AccountFrozen",
      "DeviceConflict",
      "TooManyDevices",
      "TooManyKeys",
    ],
    handler: async ({ body }, call) => {
      const request = {
        login: fromLogin(body),
        chainName: body.chainName,
        userKey: fromUserKey(body.userKey),
        attestation: fromAttestation(body),
        idempotencyKey: call.idempotencyKey,
      };
      const answer = await withLoginPointers("", signUp.signUp(request, once(call, DEADLINES.signUp)));
      return toSignedIn(answer, call);
    },
  }),
];
