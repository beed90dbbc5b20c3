// Uses the TypeScript client that openapi-generator has generated; clients.test.ts checks what it prints.
import { AccountApi, AuthApi, Configuration, DevicesApi, LoginMethod, type Problem, ResponseError } from "./index.js";

const variable = (name: string): string => process.env[name] ?? "";
const basePath = variable("GATEWAY");
const publicKey = variable("PUBLIC_KEY");
const login = {
  method: LoginMethod.IdTokenChannel,
  token: variable("LOGIN_TOKEN"),
  chainName: variable("CHAIN_NAME"),
};

const auth = new AuthApi(new Configuration({ basePath }));
const userKey = { type: "device", publicKey, device: { name: "TypeScript" } };
const signedIn = await auth.signUp({ signUpRequest: { ...login, userKey } });
const challenge = await auth.issueChallenge({
  challengeRequest: { challengeType: "deviceKey", request: login, publicKey },
});

/** Reads with the session's token; what a newer gateway answers too. */
async function read(gateway: string) {
  const session = new Configuration({ basePath: gateway, accessToken: signedIn.credentials.accessToken });
  const me = await new AccountApi(session).getMe();
  const { devices } = await new DevicesApi(session).listDevices();
  const { keys } = await new DevicesApi(session).listKeys();
  const refused: Response = await new DevicesApi(session)
    .getTwoFactor({ id: "019a0000-0000-7000-8000-000000000001" })
    .then(
      () => Promise.reject(new Error("was not refused")),
      (error: unknown) => (error instanceof ResponseError ? error.response : Promise.reject(error)),
    );
  const problem = (await refused.json()) as Problem;
  return {
    sameAccount: me.account.id === signedIn.account.id,
    chainTypes: me.account.addresses.map((each) => each.chainType),
    devices: devices.map((each) => [each.publicKey, each.algorithm, each.type]),
    keys: keys.map((each) => [each.publicKey, each.type, each.userKey?.type]),
    error: problem.error,
    status: refused.status,
  };
}

const [now, later] = [await read(basePath), await read(variable("LATER_GATEWAY"))];
console.log(JSON.stringify({ challengeDigits: challenge.challengeData.length, now, later }));
