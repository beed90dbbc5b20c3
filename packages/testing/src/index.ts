export { TestClock } from "./clock.ts";
export {
  type AuthorizationCode,
  type DevelopmentLoginOptions,
  exchangeCode,
  loginAtDevelopmentProvider,
} from "./development-login.ts";
export { type RequestFilter, type SeenRequest, TestNetwork } from "./network.ts";
export {
  authorize,
  createPhone,
  flowAddressOf,
  type IdTokenLogin,
  type LoginOptions,
  logIn,
  networkOf,
  newEmail,
  type Person,
  type Phone,
  readStack,
  secondPhone,
  signUp,
  signUpPerson,
  type TestStack,
} from "./people.ts";
export { type SimulatedHardwareOptions, simulatedHardware, simulatedKeychain } from "./simulated-phone.ts";
